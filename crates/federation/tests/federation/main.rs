//! Tests of both forms of the protocol.
//!
//! | module | behaviour |
//! |---|---|
//! | [`drops`] | a site that is dropped, in a simulated network |
//! | [`durable`] | the durable form, in a simulated network |
//! | [`rules`] | `stop` and `guard`, in a simulated network |
//! | [`site`] | one site in the durable form, driven by hand |
//! | [`paper`] | the form as it was published, in a simulated network |
//! | [`json`] | the JSON of messages, records and states |
//! | [`explore`] | every state that the durable form can reach within bounds |

mod drops;
mod durable;
mod explore;
mod json;
mod network;
mod paper;
mod rules;
mod session;
mod site;
