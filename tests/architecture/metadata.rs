//! The output of `cargo metadata` about the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// The packages of the workspace, with or without the packages that they are built from.
#[derive(Deserialize)]
pub(crate) struct CargoMetadata {
    /// The packages, in the order of Cargo.
    pub(crate) packages: Vec<CargoPackage>,
}

/// A package.
#[derive(Deserialize)]
pub(crate) struct CargoPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    /// The SPDX expression, or the older form with slashes.
    pub(crate) license: Option<String>,
    /// The source of the package. None for a package of the workspace.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<CargoDependency>,
}

/// A dependency of a package.
#[derive(Deserialize)]
pub(crate) struct CargoDependency {
    pub(crate) name: String,
    /// The kind of the dependency. None for a normal dependency.
    pub(crate) kind: Option<DependencyKind>,
    /// The required version; `*` is any.
    pub(crate) req: String,
    /// The source of the package. None for a package of the workspace.
    pub(crate) source: Option<String>,
}

/// The kind of a dependency that is not a normal dependency.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DependencyKind {
    /// A dependency of tests, benches and examples.
    Dev,
    /// A dependency of the build script.
    Build,
}

impl CargoPackage {
    /// Returns the directory of the package.
    pub(crate) fn dir(&self) -> &Path {
        self.manifest_path.parent().expect("a manifest is a file")
    }
}

/// Returns the packages of the workspace.
pub(crate) fn workspace() -> CargoMetadata {
    cargo_metadata(&["--no-deps"])
}

/// Returns the packages of the workspace, and every package that they are built from on this
/// machine, with any features.
pub(crate) fn closure() -> CargoMetadata {
    cargo_metadata(&["--all-features", "--filter-platform", &host()])
}

/// Returns the root of the repository.
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

/// Returns the target triple that this machine builds for by default.
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
