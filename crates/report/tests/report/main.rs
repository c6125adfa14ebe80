//! Tests of the output of reports: pictures and pages.
//!
//! | module | behaviour |
//! |---|---|
//! | [`line_charts`] | a small chart to the letter; gaps, bands, and input that makes no line |
//! | [`risk_plots`] | a small plot to the letter; one point, no points, equal points |
//! | [`gantt_charts`] | a small schedule to the letter; all jobs are shown |
//! | [`pages`] | a small page to the letter; names with markup; files beside the page |
//! | [`studies`] | the page about a study: the listed pictures, or all of them |
//! | [`xml`] | pictures are well-formed documents with the same bytes each time |

mod gantt_charts;
mod line_charts;
mod pages;
mod risk_plots;
mod studies;
mod xml;
