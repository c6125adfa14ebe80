//! Keys and news in, requests out.

use tollgate_client::types::JobExplanation;
use tollgate_overview::actions::JobStateChange;
use tollgate_overview::output::ShownOutput;

use crate::answers::TopAnswers;

/// A key of the overview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopKey {
    /// One line up.
    Up,
    /// One line down.
    Down,
    /// One page up.
    PageUp,
    /// One page down.
    PageDown,
    /// To the first line.
    First,
    /// To the last line.
    Last,
    /// Opens what is selected.
    Enter,
    /// Goes back.
    Back,
    /// Ends the overview, whatever is shown.
    Interrupt,
    /// A letter.
    Letter(char),
}

/// A request of the state to the loop around it.
#[derive(Clone, Debug, PartialEq)]
pub enum TopRequest {
    /// Ask the service for everything that is shown.
    Refresh,
    /// Change a job, and tell the answer.
    Change {
        /// Number of the job or task.
        id: String,
        /// The change.
        change: JobStateChange,
    },
    /// End the overview.
    Quit,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum TopNews {
    /// The service answered.
    Answers(Box<TopAnswers>),
    /// The service explained a job.
    Explained(Box<JobExplanation>),
    /// The end of the output of a job was read.
    Output {
        /// Number of the job or task.
        id: String,
        /// The end of the output.
        output: ShownOutput,
    },
    /// A change was carried out, or refused: a sentence.
    Changed(Result<String, String>),
    /// The service refuses to show the overview: a sentence.
    Denied(String),
    /// The service refused another request: a sentence.
    Refused(String),
    /// The service does not answer: a sentence.
    Away(String),
}
