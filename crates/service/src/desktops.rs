//! Desktops: their log-ins are learned, and put in order the idle ones for tasks.

use tollgate_gate::WorkerId;
use tollgate_model::EvictionCause;

use crate::core::Core;
use crate::desktop_logins::{DesktopLogins, DesktopTasks, LoginForecasts};

impl Core {
    /// Returns the log-ins as they were learned at desktops.
    pub const fn desktop_logins(&self) -> &DesktopLogins {
        &self.desktops
    }

    /// Records the use of a worker's host, if it is a desktop; `is_connected` is false if it was lost.
    pub(crate) fn note_desktop(
        &mut self,
        worker: WorkerId,
        (is_connected, cause): (bool, Option<EvictionCause>),
    ) {
        let view = self.gate.view(self.now);
        let nodes = self.gate.worker(worker).map(|live| live.nodes);
        let host = nodes.and_then(|nodes| view.host_of(nodes));
        let terms = host.map(|host| view.hosts()[host].terms);
        let name = terms
            .filter(|terms| terms.is_desktop)
            .and_then(|terms| terms.name);
        if let Some(index) = name
            && let Some(name) = self.host_names.name_of(index)
        {
            self.desktops
                .note((index, name), (is_connected, cause), self.now);
        }
    }

    /// Brings the log-ins that the policy expects at desktops up to date.
    pub(crate) fn expect_logins(&mut self) {
        let Some(LoginForecasts { forecasts, of_host }) = self.desktops.forecasts(self.now) else {
            return;
        };
        let view = self.gate.view(self.now);
        let names: Vec<_> = view.hosts().iter().map(|host| host.terms.name).collect();
        self.gate.set_logins(self.now, forecasts, |host| {
            let name = names.get(host).copied().flatten()?;
            of_host.get(&name).copied()
        });
    }

    /// Brings the order in which tasks take idle desktops up to date.
    pub(crate) fn order_desktops(&mut self) {
        let Some(choice) = &self.rules.choose else {
            return;
        };
        let view = self.gate.view(self.now);
        let hosts = view.hosts().iter().enumerate();
        let desktops = hosts
            .filter(|(_, host)| host.terms.is_desktop && view.n_up_in(host.nodes) > 0)
            .filter_map(|(index, host)| {
                Some(DesktopTasks {
                    index,
                    name: host.terms.name?,
                    n_idle: view.n_idle_in(host.nodes),
                    n_nodes: host.nodes.len,
                })
            });
        if let Some(order) = self.desktops.order(choice, desktops, self.now) {
            self.gate.set_host_order(&order);
        }
    }
}
