//! Tests of the risk analysis.
//!
//! | module | behaviour |
//! |---|---|
//! | [`objectives`] | objectives and measures of small sets of jobs |
//! | [`rankings`] | rankings, compared with a slow and simple implementation |
//! | [`sample_plot`] | the sample risk analysis plot of the paper |

mod objectives;
mod rankings;
mod sample_plot;
