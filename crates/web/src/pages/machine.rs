//! Hosts, workers and devices.

use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use tollgate_client::PathWithQuery;
use tollgate_client::types::{
    DrainRequest, NodeAvailability, NodeList, NodeStatus, ResourceStatus, ServiceStatus,
    WorkerLinkState,
};
use tollgate_overview::job_facts::{ColouredWords, WordTone};

use super::{ActionDone, PageError, PagePart};
use crate::forwarding::{client_problem, problem};
use crate::router::SessionWindow;
use crate::templates;

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
    buttons: Vec<HostButton>,
}

/// A button of a host.
#[derive(Debug, Serialize)]
struct HostButton {
    /// The path of its request.
    post: String,
    words: &'static str,
    question: Option<String>,
}

/// The worker that a button is about; the service's host without one.
#[derive(Debug, Deserialize)]
pub(crate) struct HostSelection {
    worker: Option<String>,
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
pub(crate) async fn page(
    Extension(window): Extension<SessionWindow>,
) -> Result<PagePart, PageError> {
    let nodes: NodeList = window
        .client
        .service
        .get(&PathWithQuery::new("/v1/nodes"))
        .await?;
    let status: ServiceStatus = window
        .client
        .service
        .get(&PathWithQuery::new("/v1/status"))
        .await?;
    Ok(PagePart(render(&nodes, &status, window.read_only)))
}

/// Carries out a button of a host.
pub(crate) async fn act(
    Extension(window): Extension<SessionWindow>,
    Path(action): Path<String>,
    Query(HostSelection { worker }): Query<HostSelection>,
) -> Response {
    let place = match &worker {
        Some(worker) => format!("worker {worker}"),
        None => "the service's host".to_owned(),
    };
    let (drained, done) = match action.as_str() {
        "drain" => (true, format!("Nothing else starts on {place}.")),
        "resume" => (false, format!("Jobs start on {place} again.")),
        _ => return problem(StatusCode::NOT_FOUND, "unknown action", None),
    };
    let request = DrainRequest { worker, drained };
    let path = PathWithQuery::new("/v1/drain");
    match window
        .client
        .service
        .post::<DrainRequest>(&path, &request)
        .await
    {
        Ok(_) => Json(ActionDone { done }).into_response(),
        Err(error) => client_problem(&error),
    }
}

/// Renders the page. Only a user who may operate the service gets buttons, and only in a window that changes anything.
pub fn render(list: &NodeList, status: &ServiceStatus, read_only: bool) -> String {
    let has_buttons = status.may_operate && !read_only;
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
            buttons: buttons(None, &own, has_buttons),
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
            buttons: buttons(Some(&worker.name), &nodes, has_buttons),
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

/// Returns what can be done with the nodes of a host. None if the user may not, or if no node is there.
fn buttons(worker: Option<&str>, nodes: &[&NodeStatus], has_buttons: bool) -> Vec<HostButton> {
    let has = |states: [NodeAvailability; 2]| {
        let mut nodes = nodes.iter();
        nodes.any(|node| states.iter().any(|state| node.state == *state))
    };
    let post = |action: &str| {
        let path = PathWithQuery::new(format!("ui/hosts/{action}"));
        path.with_some("worker", worker).to_string()
    };
    let mut buttons = Vec::new();
    if has_buttons && has([NodeAvailability::Idle, NodeAvailability::Busy]) {
        let question = "Drain this host? Jobs that run there go on, and no other starts.";
        buttons.push(HostButton {
            post: post("drain"),
            words: "Drain",
            question: Some(question.to_owned()),
        });
    }
    if has_buttons && has([NodeAvailability::Draining, NodeAvailability::Drained]) {
        buttons.push(HostButton {
            post: post("resume"),
            words: "Resume",
            question: None,
        });
    }
    buttons
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
            NodeAvailability::InUse,
            NodeAvailability::Down,
        ];
        let states = counted.into_iter().filter_map(|state| {
            let count = nodes.iter().filter(|node| node.state == state).count();
            let state = state.to_string().replace('_', " ");
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
            buttons: Vec::new(),
        }
    }
}
