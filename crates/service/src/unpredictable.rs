//! The treatment of jobs whose run time cannot be predicted.
//!
//! A job is judged once, as it is submitted or comes to its turn, and its treatment stays. Its time limit, its hosts and its
//! deadline do not change as more becomes known of its class. Jobs that the hosts for dedicated ones cannot take run
//! elsewhere, without a promise.

use std::borrow::Cow;

use tollgate_forecast::{UnpredictableAction, UnpredictableJob};

use tollgate_model::Span;

use crate::command::Submission;
use crate::core::Core;

impl Core {
    /// Returns a submission as the site treats it. One whose run time cannot be predicted has the treatment of such jobs. One
    /// that leaves its memory to the service has an amount if enough is known.
    pub(crate) fn treated<'a>(&self, submission: &'a Submission) -> Cow<'a, Submission> {
        let found = submission
            .options
            .unpredictable
            .or_else(|| self.judge(submission));
        let auto = submission.options.auto_memory;
        if found.is_none() && auto.is_none() {
            return Cow::Borrowed(submission);
        }
        let mut treated = submission.clone();
        treated.options.unpredictable = found;
        treated.options.auto_memory = auto.map(|_| self.auto_memory(submission));
        Cow::Owned(treated)
    }

    fn judge(&self, submission: &Submission) -> Option<UnpredictableJob> {
        let facts = self.classes.find(&submission.into());
        let (job, belief) = self.belief_of(submission, &facts, None);
        let found = self.rules.unpredictable.rule.judge(&job, &belief)?;
        let is_dedicated = found.action == UnpredictableAction::Dedicated;
        Some(match is_dedicated && !self.fits_set_aside(submission) {
            true => UnpredictableJob {
                action: UnpredictableAction::NoPromise,
                ..found
            },
            false => found,
        })
    }

    /// Returns whether the hosts that are set aside can take a job.
    fn fits_set_aside(&self, submission: &Submission) -> bool {
        let view = self.gate.view(self.now);
        let hosts = view.hosts().iter();
        let set_aside = hosts.filter(|host| host.terms.is_set_aside);
        let n_procs: u32 = set_aside.map(|host| view.n_up_in(host.nodes)).sum();
        let named = submission.options.host.as_ref();
        // A job can be widened for its memory.
        let spec = self.spec_of(submission, Span::TICK, self.now);
        n_procs >= spec.procs && named.is_none_or(|host| self.rules.unpredictable.sets_aside(host))
    }
}
