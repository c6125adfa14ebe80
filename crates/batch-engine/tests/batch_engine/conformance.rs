//! The conformance suite of engines.

use tollgate_engine::conformance;

use crate::stand_in::StandIn;
use crate::{config, open};

#[test]
fn node_of_a_batch_system_conforms() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = StandIn::default();
    conformance::run(&mut || {
        let system = open(config(dir.path()), &engine).expect("it opens");
        Box::new(system.engine("n1"))
    });
}
