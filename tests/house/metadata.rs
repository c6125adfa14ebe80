//! What `cargo metadata` says about the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// The packages of the workspace, or of everything that it is built from.
#[derive(Deserialize)]
pub(crate) struct CargoMetadata {
    /// In the order in which Cargo lists them.
    pub(crate) packages: Vec<CargoPackage>,
}

/// One package.
#[derive(Deserialize)]
pub(crate) struct CargoPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression, or the older form with slashes.
    pub(crate) license: Option<String>,
    /// Where it comes from; none for a package of ours.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<CargoDependency>,
}

/// What a package asks for.
#[derive(Deserialize)]
pub(crate) struct CargoDependency {
    pub(crate) name: String,
    /// None for what the package itself is built from.
    pub(crate) kind: Option<DependencyKind>,
}

/// What a dependency other than an ordinary one is for.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DependencyKind {
    /// Tests, benches and examples.
    Dev,
    /// The build script.
    Build,
}

impl CargoPackage {
    /// The directory of the package.
    pub(crate) fn dir(&self) -> &Path {
        self.manifest_path.parent().expect("a manifest is a file")
    }
}

/// The packages of the workspace alone.
pub(crate) fn workspace() -> CargoMetadata {
    cargo_metadata(&["--no-deps"])
}

/// The packages of the workspace and everything that it is built from on this machine.
pub(crate) fn closure() -> CargoMetadata {
    cargo_metadata(&["--filter-platform", &host()])
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this package is two directories deep")
        .to_owned()
}

fn cargo_metadata(flags: &[&str]) -> CargoMetadata {
    let json = stdout_of(
        Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked"])
            .args(flags)
            .current_dir(root()),
    );
    serde_json::from_str(&json).expect("cargo metadata prints packages")
}

/// The target triple that this machine builds for by default.
fn host() -> String {
    let cargo = stdout_of(Command::new(env!("CARGO")).arg("-vV"));
    cargo
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .expect("cargo -vV names its host")
        .to_owned()
}

fn stdout_of(command: &mut Command) -> String {
    let output = command.output().expect("cargo can be run");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("cargo prints UTF-8")
}
