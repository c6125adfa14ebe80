//! Jobs, promises and outputs as the window and `tollgate top` show them.
//!
//! | module | contents |
//! |---|---|
//! | [`words`] | instants, spans and probabilities as people read them |
//! | [`job_facts`] | jobs in words |
//! | [`outlook`] | the order of jobs: least sure promises first, then by expected start |
//! | [`actions`] | the changes of a job that its state allows, and the words about them |
//! | [`output`] | the end of the output of a job, from its file or from the service |
//!
//! All but [`output`] works on answers of the service, without I/O.

pub mod actions;
pub mod job_facts;
pub mod outlook;
pub mod output;
pub mod words;
