//! The local engine does what every engine must do, with and without control groups.

mod common;

use common::EngineTestDir;
use tollgate_engine::conformance;

#[test]
fn it_conforms() {
    let home = EngineTestDir::new();
    conformance::run(&mut || Box::new(home.open()));
}

#[test]
fn it_conforms_without_control_groups() {
    let home = EngineTestDir::without_control_groups();
    conformance::run(&mut || Box::new(home.open()));
}
