//! Requests for parts on other hosts, passed on to the service, and their events.

use tollgate_engine::{Engine, PartEvent, PartRequest};

use super::{AgentStage, DeparturePhase, WorkerAgent};
use crate::protocol::WorkerMessage;

impl<E: Engine> WorkerAgent<E> {
    /// Passes on the request of a process on this host, whose user has the name `user`. `call` identifies
    /// the request in [`WorkerAgent::drain_part_events`].
    pub fn request_part(&mut self, call: u64, user: String, request: PartRequest) {
        if self.stage == AgentStage::Registered && self.departure == DeparturePhase::Staying {
            return self.send(WorkerMessage::Part {
                call,
                user,
                request,
            });
        }
        let why = "this host is not connected to its service".to_owned();
        self.part_events.push((call, PartEvent::Refused(why)));
    }

    /// Returns the new events of requested parts, each with the number of its request.
    pub fn drain_part_events(&mut self) -> Vec<(u64, PartEvent)> {
        std::mem::take(&mut self.part_events)
    }
}
