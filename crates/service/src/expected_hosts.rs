//! Hosts that are expected: pilots in the queues of batch systems, as the keeper of their sites states them.

use tollgate_gate::GateInput;
use tollgate_model::{Instant, Probability};
use tollgate_policy::{ExpectedHost, ExpectedHosts, StartForecast};

use crate::core::Core;
use crate::host_arrival::{ExpectedArrival, SiteStatement};
use crate::output::{CommandError, StepOutput};

/// The levels of the starts that are shown.
const SHOWN: [Probability; 2] = [
    Probability::new(0.5).expect("a probability"),
    Probability::new(0.9).expect("a probability"),
];

impl Core {
    /// Returns the hosts that are expected.
    pub fn expected_arrivals(&self) -> Vec<ExpectedArrival> {
        let now = self.now;
        let view = self.gate.view(now);
        let sites = view.stated_hosts().iter();
        let valid = sites.filter(|(_, expected)| expected.valid_until > now);
        let hosts = valid.flat_map(|(site, expected)| {
            let hosts = expected.hosts.iter();
            hosts.map(move |host| (site, host))
        });
        let arrivals = hosts.map(|(site, host)| {
            let name = host.name.and_then(|name| self.host_names.name_of(name));
            let by = SHOWN.map(|level| host.comes_by(now, level));
            ExpectedArrival {
                site: site.clone(),
                name: name.map(str::to_owned),
                nodes: host.nodes,
                stays: host.stays,
                starts: by.map(|at| Some(at).filter(|at| *at < Instant::MAX)),
            }
        });
        arrivals.collect()
    }

    /// Takes on what is stated of the hosts of a site.
    pub(crate) fn expect_hosts(
        &mut self,
        site: &str,
        statement: &SiteStatement,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let now = self.now;
        let known = statement.hosts.iter().filter(|host| host.nodes > 0);
        let expected = known.map(|host| ExpectedHost {
            name: host.name.as_deref().map(|name| self.host_names.learn(name)),
            nodes: host.nodes,
            memory: host.memory,
            starts: StartForecast::new(now, host.waits.iter().copied()),
            stays: host.stays,
        });
        let expected = ExpectedHosts {
            hosts: expected.collect(),
            valid_until: now + statement.valid_for,
            preempted_per_h: statement.preempted_per_h,
        };
        let there = statement.there.iter();
        let there: Vec<_> = there.map(|name| self.host_names.index_of(name)).collect();
        self.gate.expect_hosts(now, site, (expected, &there));
        self.apply_input(GateInput::Tick, step)
    }
}
