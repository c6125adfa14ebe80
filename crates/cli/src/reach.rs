//! Commands about other hosts: sites, sessions, clusters, pilots.
//!
//! | module | contents |
//! |---|---|
//! | [`cluster`] | `tollgate cluster`, and jobs that go to one of several clusters |
//! | [`site`] | `tollgate site` |
//! | [`session`] | `tollgate session` |
//! | [`pilot`] | the options of a pilot: a worker inside a job of another scheduler |
//! | [`execution_node`] | a pilot that is an execution daemon of a personal scheduler |

pub(crate) mod cluster;
pub(crate) mod execution_node;
pub(crate) mod pilot;
pub(crate) mod session;
pub(crate) mod site;
