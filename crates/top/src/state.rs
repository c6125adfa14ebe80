//! The state of the screen: lists, panes and the selected job; keys in, requests out.
//!
//! Events in: [`on_key`](TopState::on_key), [`on_news`](TopState::on_news). Requests out: [`TopRequest`]. The state reads
//! no clock: the present is that of the last answer of the service.

mod messages;

use jiff::tz::TimeZone;
use tollgate_client::types::{JobDetails, JobExplanation};
use tollgate_overview::actions::JobStateChange;
use tollgate_overview::job_facts::job_id;

pub use self::messages::{TopKey, TopNews, TopRequest};
use crate::answers::TopAnswers;
use crate::groups::groups;
use crate::safe_text::safe_output;

/// Whether the service answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ServiceLink {
    /// Nothing was answered yet.
    #[default]
    Waiting,
    /// It answers.
    Live,
    /// It refuses to show the overview: a sentence.
    Denied(String),
    /// It does not: a sentence.
    Away(String),
}

/// A pane that covers the list of jobs.
#[derive(Clone, Debug, Default)]
pub enum TopPane {
    /// None: the list is visible.
    #[default]
    Jobs,
    /// The explanation of a job; None until the service has answered.
    Explanation(Option<Box<JobExplanation>>),
    /// The lines of an output, and where they stand; None until they are read.
    Output(Option<(Vec<String>, String)>),
    /// The keys.
    Help,
}

/// A message at the bottom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopNotice {
    /// A sentence.
    pub text: String,
    /// Whether it is about a failure.
    pub is_bad: bool,
}

/// A change that the user has not confirmed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingChange {
    /// Number of the job or task.
    pub id: String,
    /// The change.
    pub change: JobStateChange,
    /// The question.
    pub question: String,
}

/// The overview.
#[derive(Clone, Debug)]
pub struct TopState {
    /// The last answers.
    pub(crate) answers: Option<TopAnswers>,
    /// Whether the service answers.
    pub(crate) link: ServiceLink,
    /// The zone of the times.
    pub(crate) zone: TimeZone,
    /// The user whose jobs are listed; None for those of all.
    pub(crate) user: Option<String>,
    /// The user whose jobs the key for one user lists, if that is not the one whom the service knows.
    own: Option<String>,
    /// The selected job or task.
    pub(crate) selected: Option<JobKey>,
    /// The pane that covers the list.
    pub(crate) pane: TopPane,
    /// The job of the pane.
    pub(crate) pane_job: Option<String>,
    /// The first line of the pane that is shown. `usize::MAX` means its end.
    pub(crate) scrolled: usize,
    /// The message at the bottom.
    pub(crate) notice: Option<TopNotice>,
    /// The change that waits for an answer of the user.
    pub(crate) pending: Option<PendingChange>,
    /// Number of lines of the list or the pane on the screen.
    page: usize,
    /// Number of lines of the pane.
    pane_lines: usize,
}

/// Number of a job, and of its task.
pub(crate) type JobKey = (u64, Option<u32>);

/// Returns what identifies a job in the list.
pub(crate) fn job_key(job: &JobDetails) -> JobKey {
    (job.id, job.task)
}

impl TopState {
    /// Creates the state before any answer. The jobs of `user` are listed at first, and by the key for one user. With None
    /// they are those of all at first, and by that key those of the user of the request.
    pub fn new(zone: TimeZone, user: Option<String>) -> Self {
        Self {
            answers: None,
            link: ServiceLink::Waiting,
            zone,
            own: user.clone(),
            user,
            selected: None,
            pane: TopPane::Jobs,
            pane_job: None,
            scrolled: 0,
            notice: None,
            pending: None,
            page: 10,
            pane_lines: 0,
        }
    }

    /// Returns the user whose jobs are to be asked for; None for all users.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns the job that is to be explained, if one is.
    pub fn explained_job(&self) -> Option<&str> {
        let is_shown = matches!(self.pane, TopPane::Explanation(_));
        self.pane_job.as_deref().filter(|_| is_shown)
    }

    /// Returns the job whose output is to be read, if one is.
    pub fn output_job(&self) -> Option<&str> {
        let is_shown = matches!(self.pane, TopPane::Output(_));
        self.pane_job.as_deref().filter(|_| is_shown)
    }

    /// Takes the measures of the screen: lines of the list or pane on it, and lines that the pane has.
    pub fn measured(&mut self, page: usize, pane_lines: usize) {
        self.page = page.max(1);
        self.pane_lines = pane_lines;
    }

    /// Takes what happened.
    pub fn on_news(&mut self, news: TopNews) {
        match news {
            TopNews::Answers(answers) if answers.user == self.user => {
                self.link = ServiceLink::Live;
                self.answers = Some(*answers);
                self.keep_selection();
            }
            // The user has changed the filter meanwhile.
            TopNews::Answers(_) => {}
            TopNews::Explained(explained) => {
                if self.explained_job() == Some(&job_id(&explained.job)) {
                    self.pane = TopPane::Explanation(Some(explained));
                }
            }
            TopNews::Output { id, output } => {
                if self.output_job() == Some(&id) {
                    let lines = output.text.as_deref().map(safe_output);
                    self.pane = TopPane::Output(Some((lines.unwrap_or_default(), output.note)));
                }
            }
            TopNews::Changed(Ok(done)) => self.notify(done, false),
            TopNews::Changed(Err(problem)) => self.notify(problem, true),
            TopNews::Refused(problem) => self.notify(problem, true),
            TopNews::Denied(problem) => self.link = ServiceLink::Denied(problem),
            TopNews::Away(problem) => self.link = ServiceLink::Away(problem),
        }
    }

    /// Takes a key. Returns what is to be done, if anything is.
    pub fn on_key(&mut self, key: TopKey) -> Option<TopRequest> {
        if key == TopKey::Interrupt {
            return Some(TopRequest::Quit);
        }
        if let Some(pending) = self.pending.take() {
            if matches!(key, TopKey::Letter('y' | 'Y')) {
                return Some(TopRequest::Change {
                    id: pending.id,
                    change: pending.change,
                });
            }
            self.notify("Nothing was changed.".to_owned(), false);
            return None;
        }
        self.notice = None;
        match self.pane {
            TopPane::Jobs => self.on_list_key(key),
            TopPane::Explanation(_) | TopPane::Output(_) | TopPane::Help => self.on_pane_key(key),
        }
    }

    fn on_list_key(&mut self, key: TopKey) -> Option<TopRequest> {
        match key {
            TopKey::Up | TopKey::Letter('k') => self.select_by(-1),
            TopKey::Down | TopKey::Letter('j') => self.select_by(1),
            TopKey::PageUp => self.select_by(-(self.page as isize)),
            TopKey::PageDown => self.select_by(self.page as isize),
            TopKey::First | TopKey::Letter('g') => self.select_by(isize::MIN),
            TopKey::Last | TopKey::Letter('G') => self.select_by(isize::MAX),
            TopKey::Letter('q') => return Some(TopRequest::Quit),
            TopKey::Letter('m') => {
                let caller = || self.answers.as_ref()?.status.user.clone();
                let one = self.own.clone().or_else(caller);
                if one.is_none() {
                    self.notify("The service has not told your name.".to_owned(), true);
                    return None;
                }
                self.user = match self.user {
                    Some(_) => None,
                    None => one,
                };
                return Some(TopRequest::Refresh);
            }
            TopKey::Letter('?') => self.open(TopPane::Help, 0),
            TopKey::Enter | TopKey::Back | TopKey::Interrupt | TopKey::Letter(_) => {
                return self.on_job_key(key);
            }
        }
        None
    }

    fn on_pane_key(&mut self, key: TopKey) -> Option<TopRequest> {
        match key {
            TopKey::Up | TopKey::Letter('k') => self.scroll_by(-1),
            TopKey::Down | TopKey::Letter('j') => self.scroll_by(1),
            TopKey::PageUp => self.scroll_by(-(self.page as isize)),
            TopKey::PageDown => self.scroll_by(self.page as isize),
            TopKey::First | TopKey::Letter('g') => self.scrolled = 0,
            TopKey::Last | TopKey::Letter('G') => self.scrolled = usize::MAX,
            TopKey::Back | TopKey::Letter('q') => {
                self.open(TopPane::Jobs, 0);
                self.pane_job = None;
            }
            TopKey::Enter | TopKey::Interrupt | TopKey::Letter(_) => return self.on_job_key(key),
        }
        None
    }

    /// Takes a key about the selected job.
    fn on_job_key(&mut self, key: TopKey) -> Option<TopRequest> {
        let changes = [
            ('c', JobStateChange::Cancel),
            ('h', JobStateChange::Hold),
            ('r', JobStateChange::Release),
        ];
        let mut changes = changes.into_iter();
        let change = changes.find(|(letter, _)| key == TopKey::Letter(*letter));
        let pane = match key {
            TopKey::Enter | TopKey::Letter('e') => Some((TopPane::Explanation(None), 0)),
            TopKey::Letter('l') => Some((TopPane::Output(None), usize::MAX)),
            TopKey::Up
            | TopKey::Down
            | TopKey::PageUp
            | TopKey::PageDown
            | TopKey::First
            | TopKey::Last
            | TopKey::Back
            | TopKey::Interrupt
            | TopKey::Letter(_) => None,
        };
        if change.is_none() && pane.is_none() {
            return None;
        }
        let Some(job) = self.selected_job() else {
            self.notify("No job is selected.".to_owned(), true);
            return None;
        };
        let id = job_id(job);
        if let Some((pane, from)) = pane {
            self.open(pane, from);
            self.pane_job = Some(id);
            return Some(TopRequest::Refresh);
        }
        let (_, change) = change?;
        if !change.is_possible(job) {
            let text = format!(
                "Job {id} is {}: it cannot be {}.",
                job.state,
                change.participle()
            );
            self.notify(text, true);
            return None;
        }
        let question = change.question(job);
        self.pending = Some(PendingChange {
            id,
            change,
            question,
        });
        None
    }

    fn open(&mut self, pane: TopPane, from: usize) {
        self.pane = pane;
        self.scrolled = from;
    }

    fn notify(&mut self, text: String, is_bad: bool) {
        self.notice = Some(TopNotice { text, is_bad });
    }

    /// Returns the jobs in the order of the screen.
    fn order(&self) -> Vec<&JobDetails> {
        let live = self.answers.as_ref().map(|answers| &answers.live.jobs[..]);
        let groups = groups(live.unwrap_or_default());
        groups.into_iter().flat_map(|group| group.jobs).collect()
    }

    /// Returns the job that keys are about: that of the pane, else the selected one.
    pub(crate) fn selected_job(&self) -> Option<&JobDetails> {
        let answers = self.answers.as_ref()?;
        let mut jobs = answers.live.jobs.iter();
        if let TopPane::Explanation(Some(explained)) = &self.pane {
            return Some(&explained.job);
        }
        match &self.pane_job {
            Some(id) => jobs.find(|job| job_id(job) == *id),
            None => jobs.find(|job| Some(job_key(job)) == self.selected),
        }
    }

    fn select_by(&mut self, lines: isize) {
        let order = self.order();
        let at = order
            .iter()
            .position(|job| Some(job_key(job)) == self.selected);
        let last = order.len().saturating_sub(1);
        let next = at.map_or(0, |at| at.saturating_add_signed(lines).min(last));
        self.selected = order.get(next).map(|job| job_key(job));
    }

    /// Selects another job if the selected one is over: the first.
    fn keep_selection(&mut self) {
        let order = self.order();
        let is_there = order.iter().any(|job| Some(job_key(job)) == self.selected);
        if !is_there {
            self.selected = order.first().map(|job| job_key(job));
        }
    }

    fn scroll_by(&mut self, lines: isize) {
        let last = self.pane_lines.saturating_sub(self.page);
        let next = self.scrolled.min(last).saturating_add_signed(lines);
        // At the end, the pane follows what is added.
        self.scrolled = if next >= last && lines > 0 {
            usize::MAX
        } else {
            next
        };
    }
}
