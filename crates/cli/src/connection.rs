//! The connection to a service.
//!
//! | module | contents |
//! |---|---|
//! | [`clusters`] | the file of the user's clusters |
//! | [`endpoint`] | the address of the service: flags, environment, defaults |
//! | [`error`] | the errors of clients and of the service |
//! | [`random_key`] | random keys of requests, sites and sessions |
//! | [`reconnect`] | what commands do after they lost their connection |

pub(crate) mod clusters;
pub(crate) mod endpoint;
pub(crate) mod error;
pub(crate) mod random_key;
pub(crate) mod reconnect;
