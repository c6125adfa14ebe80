//! Conformance of the local engine, with and without control groups.

use tollgate_engine::conformance;

use crate::common::EngineTestDir;

#[test]
fn local_engine_conforms() {
    let home = EngineTestDir::new();
    conformance::run(&mut || Box::new(home.open()));
}

#[test]
fn local_engine_conforms_with_low_priority() {
    let homes = [
        Some(EngineTestDir::with_low_priority()),
        EngineTestDir::with_low_priority_v1(),
    ];
    for home in homes.into_iter().flatten() {
        conformance::run(&mut || Box::new(home.open()));
    }
}

#[test]
fn local_engine_conforms_without_cgroups() {
    let home = EngineTestDir::without_control_groups();
    conformance::run(&mut || Box::new(home.open()));
}
