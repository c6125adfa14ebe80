//! Hosts, workers and devices.

use axum::extract::State;
use serde::Serialize;
use tollgate_client::PathWithQuery;
use tollgate_client::types::{
    NodeAvailability, NodeList, NodeStatus, ResourceStatus, ServiceStatus, WorkerLinkState,
};

use super::{PageError, PagePart};
use crate::router::WindowState;
use crate::templates;
use tollgate_overview::job_facts::{ColouredWords, WordTone};

/// A host with its nodes.
#[derive(Debug, Serialize)]
struct HostRow<'a> {
    name: Option<&'a str>,
    site: Option<&'a str>,
    link: ColouredWords,
    nodes: usize,
    numbers: String,
    states: String,
    tasks: u32,
    memory: Option<u64>,
    until: Option<&'a str>,
    retired: Option<&'a str>,
    enforced: &'a [String],
}

/// The page.
#[derive(Debug, Serialize)]
struct MachineView<'a> {
    status: &'a ServiceStatus,
    workers: usize,
    hosts: Vec<HostRow<'a>>,
    resources: &'a [ResourceStatus],
}

/// Returns the page.
pub(crate) async fn page(State(window): State<WindowState>) -> Result<PagePart, PageError> {
    let nodes: NodeList = window.service.get(&PathWithQuery::new("/v1/nodes")).await?;
    let status: ServiceStatus = window
        .service
        .get(&PathWithQuery::new("/v1/status"))
        .await?;
    Ok(PagePart(render(&nodes, &status)))
}

/// Renders the page.
pub fn render(list: &NodeList, status: &ServiceStatus) -> String {
    let of = |worker: Option<&str>| -> Vec<&NodeStatus> {
        let nodes = list.nodes.iter();
        nodes
            .filter(|node| node.worker.as_deref() == worker)
            .collect()
    };
    let own = of(None);
    let mut hosts = Vec::new();
    if !own.is_empty() {
        hosts.push(HostRow {
            name: None,
            site: None,
            link: ColouredWords::new(WordTone::Good, "here"),
            memory: Some(list.memory_per_node_bytes).filter(|bytes| *bytes > 0),
            until: None,
            retired: None,
            enforced: &list.enforced,
            ..HostRow::of_nodes(&own)
        });
    }
    for worker in &list.workers {
        let first = worker.first_node;
        let nodes: Vec<&NodeStatus> = list
            .nodes
            .iter()
            .filter(|node| (first..first + worker.nodes).contains(&node.id))
            .collect();
        hosts.push(HostRow {
            name: Some(&worker.name),
            site: worker.site.as_deref(),
            link: link(worker.state.known(), worker.state.key()),
            memory: worker.memory_per_node_bytes,
            until: worker.until.as_deref(),
            retired: worker.retired.as_deref(),
            enforced: &worker.enforced,
            ..HostRow::of_nodes(&nodes)
        });
    }
    let view = MachineView {
        status,
        workers: list.workers.len(),
        hosts,
        resources: &list.resources,
    };
    templates::render("machine", &view)
}

fn link(state: Option<WorkerLinkState>, key: &str) -> ColouredWords {
    match state {
        Some(WorkerLinkState::Connected) => ColouredWords::new(WordTone::Good, "connected"),
        Some(WorkerLinkState::Leaving) => ColouredWords::new(WordTone::Dim, "leaving"),
        Some(WorkerLinkState::Disconnected) => ColouredWords::new(WordTone::Bad, "disconnected"),
        Some(WorkerLinkState::Lost) => ColouredWords::new(WordTone::Dim, "lost"),
        None => ColouredWords::new(WordTone::Plain, key),
    }
}

impl HostRow<'_> {
    /// Counts the nodes of a host.
    fn of_nodes(nodes: &[&NodeStatus]) -> Self {
        let numbers = match (nodes.first(), nodes.last()) {
            (Some(first), Some(last)) if first.id != last.id => {
                format!("{} to {}", first.id, last.id)
            }
            (Some(only), _) => only.id.to_string(),
            (None, _) => "none".to_owned(),
        };
        let counted = [
            NodeAvailability::Busy,
            NodeAvailability::Idle,
            NodeAvailability::Draining,
            NodeAvailability::Drained,
            NodeAvailability::Down,
        ];
        let states = counted.into_iter().filter_map(|state| {
            let count = nodes.iter().filter(|node| node.state == state).count();
            (count > 0).then(|| format!("{count} {state}"))
        });
        Self {
            name: None,
            site: None,
            link: ColouredWords::new(WordTone::Plain, ""),
            nodes: nodes.len(),
            numbers,
            states: states.collect::<Vec<_>>().join(", "),
            tasks: nodes.iter().map(|node| node.tasks).sum(),
            memory: None,
            until: None,
            retired: None,
            enforced: &[],
        }
    }
}
