//! The hosts, devices and licences that jobs need, and those that the site has.

use std::collections::BTreeSet;

use tollgate_gate::GateInput;
use tollgate_model::{HostTerms, Instant, JobSpec, PlacementNeeds, ResourceIndex, Span};

use crate::command::Submission;
use crate::core::Core;
use crate::output::{CommandError, HostMismatch, RejectReason, ResourceShortage, StepOutput};
use crate::resources::{HostNames, HostOffer, NamedResources, ResourceNames};
use crate::rules;

impl Core {
    /// Returns the specification of a job, as if submitted at `at`.
    pub(crate) fn spec_of(&self, submission: &Submission, estimate: Span, at: Instant) -> JobSpec {
        let host = submission.options.host.as_ref();
        let needs = PlacementNeeds {
            one_host: submission.options.one_host || submission.options.host.is_some(),
            host: host.map(|name| self.host_names.index_of(name)),
            dedicated: false,
            set_aside: submission.options.is_set_aside()
                && self.rules.unpredictable.hosts_aside().next().is_some(),
            units: self.resources.counts_of(&submission.options.resources),
        };
        let level = self.rules.policy.promise_level();
        let spec = rules::spec(submission, estimate, at, self.memory_per_node(), level);
        JobSpec {
            needs,
            restarts: self.restarts_of(submission),
            ..spec
        }
    }

    /// Returns why a job can never have the hosts, devices or licences that it needs, if so.
    pub(crate) fn host_refusal(&self, submission: &Submission) -> Option<RejectReason> {
        if let Some(missing) = self.missing_resource(submission) {
            return Some(RejectReason::Resource(missing));
        }
        if submission.options.needs_hosts() && !self.rules.policy.chooses_hosts() {
            return Some(RejectReason::HostsUnplanned);
        }
        let host = submission.options.host.as_ref()?;
        let known = self.usable_hosts(submission.options.is_set_aside());
        (!known.contains(host.as_str())).then(|| {
            RejectReason::UnknownHost(HostMismatch {
                host: host.clone(),
                known: known.into_iter().map(str::to_owned).collect(),
                is_set_aside: self.rules.unpredictable.sets_aside(host),
            })
        })
    }

    /// Returns the names of the hosts on which a job can run now or later: those that are up, and those that
    /// are away and stay when they come back. A pilot that has ended is not one of them, and
    /// either those are that are set aside or the others.
    fn usable_hosts(&self, set_aside: bool) -> BTreeSet<&str> {
        let view = self.gate.view(self.now);
        let hosts = view.hosts().iter();
        let hosts = hosts.filter(|host| {
            let stays = host.terms.closes.is_none_or(|closes| closes > self.now);
            let is_open = host.terms.is_set_aside == set_aside;
            is_open && (stays || view.n_up_in(host.nodes) > 0)
        });
        let names = hosts.filter_map(|host| self.host_names.name_of(host.terms.name?));
        names.collect()
    }

    /// Returns the first resource that a job needs more of than any host has, or the site.
    fn missing_resource(&self, submission: &Submission) -> Option<ResourceShortage> {
        let view = self.gate.view(self.now);
        let most = |index| {
            let hosts = view
                .hosts()
                .iter()
                .filter(|host| view.n_up_in(host.nodes) > 0);
            let devices = hosts.map(|host| host.terms.devices.of(index)).max();
            devices.unwrap_or(0).max(view.licences().of(index))
        };
        let named = submission.options.resources.iter();
        let mut short = named.filter_map(|(name, &needed)| {
            let most = self.resources.index_of(name).map_or(0, most);
            (most < needed).then(|| ResourceShortage {
                name: name.clone(),
                most,
            })
        });
        short.next()
    }

    /// Returns the names of the site's resources.
    pub fn resource_names(&self) -> &ResourceNames {
        &self.resources
    }

    /// Returns the names of the hosts that ever were there.
    pub fn host_names(&self) -> &HostNames {
        &self.host_names
    }

    /// Returns the terms of a host by the indices of its name and its devices, which are known from then on.
    pub(crate) fn host_terms(&mut self, offer: &HostOffer) -> HostTerms {
        for name in offer.devices.keys() {
            self.resources.learn(name);
        }
        HostTerms {
            closes: offer.closes,
            devices: self.resources.counts_of(&offer.devices),
            name: Some(self.host_names.learn(&offer.name)),
            is_desktop: offer.is_desktop,
            is_set_aside: self.rules.unpredictable.sets_aside(&offer.name),
        }
    }

    /// Sets the licences of the site.
    pub(crate) fn set_licences(
        &mut self,
        licences: &NamedResources,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let known = licences
            .keys()
            .filter_map(|name| self.resources.learn(name));
        let known: Vec<ResourceIndex> = known.collect();
        let total = self.resources.counts_of(licences);
        self.gate.set_licences(self.now, known, total);
        self.apply_input(GateInput::Tick, step)
    }
}
