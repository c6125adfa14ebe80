//! Requests that their clients may send again: each is carried out once, and its answer is stored with its
//! effects.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use tollgate_engine::Engine;
use tollgate_model::Instant;
use tollgate_service::CommandResult;
use tollgate_store::{KeyedAnswer, StoredAnswer};

use super::request::ControllerRequest;
use super::request_error::RequestError;
use super::state::Controller;
use super::tick::TickInput;

/// A function that makes the answer of the results of a request's commands. None if no answer is stored,
/// because nothing was changed.
pub type AnswerRenderer = Box<dyn Fn(&[CommandResult]) -> Option<StoredAnswer> + Send>;

/// A request that its client may send again.
pub struct KeyedRequest {
    /// The user of the request.
    pub user: u32,
    /// The key, which is the user's own.
    pub key: String,
    /// The request.
    pub request: ControllerRequest,
    /// Makes its answer.
    pub render: AnswerRenderer,
}

impl fmt::Debug for KeyedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedRequest")
            .field("user", &self.user)
            .field("key", &self.key)
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}

/// The requests of a tick with a key, by user and key.
#[derive(Default)]
pub(super) struct KeyedCommands {
    by_key: BTreeMap<(u32, String), (Range<usize>, AnswerRenderer)>,
}

impl KeyedCommands {
    /// Adds `n` to the indices of all commands.
    pub(super) fn shift(&mut self, n: usize) {
        for (commands, _) in self.by_key.values_mut() {
            *commands = commands.start + n..commands.end + n;
        }
    }

    /// Separates the requests, by the index of the first command of each. The commands of each are then
    /// counted from 0.
    pub(super) fn into_requests(self) -> BTreeMap<usize, (usize, Self)> {
        let requests = self.by_key.into_iter();
        let separate = requests.map(|(key, (commands, render))| {
            let by_key = BTreeMap::from([(key, (0..commands.len(), render))]);
            (commands.start, (commands.len(), Self { by_key }))
        });
        separate.collect()
    }

    /// Returns the answers that are stored, given the results of all commands of the tick.
    pub(super) fn answers(&self, results: &[CommandResult]) -> Vec<KeyedAnswer> {
        let answers = self
            .by_key
            .iter()
            .filter_map(|((user, key), (commands, render))| {
                Some(KeyedAnswer {
                    user: *user,
                    key: key.clone(),
                    answer: render(&results[commands.clone()])?,
                })
            });
        answers.collect()
    }
}

impl<E: Engine> Controller<E> {
    /// Accepts a request, unless it was carried out before.
    pub(super) fn accept_keyed(&mut self, keyed: KeyedRequest, at: Instant, to: &mut TickInput) {
        match self.store.has_answer(keyed.user, &keyed.key) {
            Err(error) => return keyed.request.fail(RequestError::from(&error)),
            Ok(true) => return keyed.request.fail(RequestError::AnsweredBefore),
            Ok(false) => {}
        }
        let key = (keyed.user, keyed.key.clone());
        if to.keyed.by_key.contains_key(&key) {
            return to.repeats.push(keyed);
        }
        let first = to.commands.len();
        self.accept(keyed.request, at, to);
        let commands = first..to.commands.len();
        if !commands.is_empty() {
            to.keyed.by_key.insert(key, (commands, keyed.render));
        }
    }

    /// Answers a request that came twice in one tick, once the first one was carried out.
    pub(super) fn answer_repeat(&self, repeat: KeyedRequest) {
        let failed = match self.store.has_answer(repeat.user, &repeat.key) {
            Ok(true) => RequestError::AnsweredBefore,
            Ok(false) => RequestError::Store("the first request failed".to_owned()),
            Err(error) => RequestError::from(&error),
        };
        repeat.request.fail(failed);
    }
}
