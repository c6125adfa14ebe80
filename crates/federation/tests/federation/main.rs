//! Tests of both forms of the protocol.
//!
//! | module | behaviour |
//! |---|---|
//! | [`durable`] | the durable form, in a simulated network |
//! | [`paper`] | the form as it was published, in a simulated network |
//! | [`explore`] | every state that the durable form can reach within bounds |

mod durable;
mod explore;
mod network;
mod paper;
