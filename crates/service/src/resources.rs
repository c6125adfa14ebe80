//! The names of generic resources: devices of hosts, licences of the site.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_gate::GateInput;
use tollgate_model::{
    HostTerms, Instant, JobSpec, MAX_RESOURCES, PlacementNeeds, ResourceCounts, ResourceIndex, Span,
};

use crate::{CommandError, Core, RejectReason, ResourceShortage, StepOutput, Submission, rules};

/// Units of resources by name; at least 1 of each.
pub type NamedResources = BTreeMap<String, u8>;

/// What a host offers beside processors and memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostOffer {
    /// The instant by which everything there has to have ended; None if the host stays.
    pub closes: Option<Instant>,
    /// Its devices. A site knows at most [`MAX_RESOURCES`] names; more are not offered.
    pub devices: NamedResources,
}

/// The names of the site's resources, in the order of their indices. A name keeps its index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceNames(Vec<String>);

impl ResourceNames {
    /// Returns the index of a name, if it is known.
    pub fn index_of(&self, name: &str) -> Option<ResourceIndex> {
        let at = self.0.iter().position(|known| known == name)?;
        u8::try_from(at).ok().map(ResourceIndex)
    }

    /// Returns the name of a resource.
    pub fn name_of(&self, index: ResourceIndex) -> Option<&str> {
        self.0.get(usize::from(index.0)).map(String::as_str)
    }

    /// Returns the index of a name, which is known from then on; None if there are too many names.
    fn learn(&mut self, name: &str) -> Option<ResourceIndex> {
        if let Some(known) = self.index_of(name) {
            return Some(known);
        }
        if self.0.len() == MAX_RESOURCES {
            return None;
        }
        self.0.push(name.to_owned());
        self.index_of(name)
    }

    /// Returns the counts of what is named, without the names that are not known.
    pub fn counts_of(&self, named: &NamedResources) -> ResourceCounts {
        let known = named
            .iter()
            .filter_map(|(name, &count)| Some((self.index_of(name)?, count)));
        known.fold(ResourceCounts::NONE, |counts, (index, count)| {
            counts.with(index, count)
        })
    }

    /// Returns the names of counts.
    pub fn named(&self, counts: &ResourceCounts) -> NamedResources {
        let named = counts
            .iter()
            .filter_map(|(index, count)| Some((self.name_of(index)?.to_owned(), count)));
        named.collect()
    }
}

impl Core {
    /// Returns the specification of a job, as if submitted at `at`.
    pub(crate) fn spec_of(&self, submission: &Submission, estimate: Span, at: Instant) -> JobSpec {
        let needs = PlacementNeeds {
            one_host: submission.options.one_host,
            units: self.resources.counts_of(&submission.options.resources),
        };
        let spec = rules::spec(submission, estimate, at, self.memory_per_node());
        JobSpec { needs, ..spec }
    }

    /// Returns why a job can never have the hosts, devices or licences that it needs, if so.
    pub(crate) fn host_refusal(&self, submission: &Submission) -> Option<RejectReason> {
        if let Some(missing) = self.missing_resource(submission) {
            return Some(RejectReason::Resource(missing));
        }
        let options = &submission.options;
        let has_needs = options.one_host || !options.resources.is_empty();
        let is_unplanned = has_needs && !self.rules.policy.chooses_hosts();
        is_unplanned.then_some(RejectReason::HostsUnplanned)
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
        let mut short = named.filter_map(|(name, &wanted)| {
            let most = self.resources.index_of(name).map_or(0, most);
            (most < wanted).then(|| ResourceShortage {
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

    /// Returns the terms of a host by the indices of its devices, whose names are known from then on.
    pub(crate) fn host_terms(&mut self, offer: &HostOffer) -> HostTerms {
        for name in offer.devices.keys() {
            self.resources.learn(name);
        }
        HostTerms {
            closes: offer.closes,
            devices: self.resources.counts_of(&offer.devices),
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
