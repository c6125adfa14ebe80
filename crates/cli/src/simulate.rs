//! Commands without a service: policies on recorded jobs, forecasts, studies, records.
//!
//! | module | contents |
//! |---|---|
//! | [`replay`] | `tollgate replay` |
//! | [`campus`] | `tollgate campus` |
//! | [`pilots`] | `tollgate site simulate` |
//! | [`policies`] | `tollgate policies` |
//! | [`study`] | `tollgate study` |
//! | [`forecast`] | `tollgate forecast` |
//! | [`trace`] | `tollgate trace` |
//! | [`record_filter`] | the flags that select a part of a record |
//! | [`missing_requests`] | notes on jobs whose record has no request |

pub(crate) mod campus;
pub(crate) mod forecast;
pub(crate) mod missing_requests;
pub(crate) mod pilots;
pub(crate) mod policies;
pub(crate) mod record_filter;
pub(crate) mod replay;
pub(crate) mod study;
pub(crate) mod trace;
