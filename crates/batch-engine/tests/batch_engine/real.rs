//! The conformance suite on a real engine, which `.ci/parts/engines/conformance.sh` starts.

use std::env;
use std::path::PathBuf;

use tollgate_batch::EngineKind;
use tollgate_batch_engine::{BatchSystem, BatchSystemConfig};
use tollgate_engine::conformance;
use tollgate_needs::{Need, lacks};
use tollgate_sites::EngineShell;

#[test]
fn node_of_a_real_engine_conforms() {
    let Ok(kind) = env::var("TOLLGATE_CONFORMANCE_ENGINE") else {
        lacks(Need::BatchSystem, "TOLLGATE_CONFORMANCE_ENGINE names none");
        return;
    };
    let kind: EngineKind = kind.parse().expect("an engine");
    let value = |name: &str| env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let queue = env::var("TOLLGATE_CONFORMANCE_QUEUE").ok();
    let folder = PathBuf::from(value("TOLLGATE_CONFORMANCE_FOLDER"));
    let attempt = value("TOLLGATE_CONFORMANCE_ATTEMPT");
    conformance::run(&mut || {
        let config = BatchSystemConfig::new(kind, queue.clone(), &folder, [&attempt]);
        let system = BatchSystem::open(config, Box::new(EngineShell::new(None)));
        let system = system.expect("it opens");
        let node = system.nodes().into_iter().find(|node| node.is_up);
        Box::new(system.engine(&node.expect("a node that is up").name))
    });
}
