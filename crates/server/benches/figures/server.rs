//! A service in a process of its own.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use tollgate_client::ApiClient;
use tollgate_client::types::ServiceStatus;
use tollgate_engine::sim_engine::SimProgram;
use tollgate_engine::{SimEngine, SimHost};
use tollgate_server::{ServeOptions, ServiceConfig};
use tollgate_store::{DataDir, data_dir};

/// Number of nodes of the simulated host.
pub(crate) const NODES: u32 = 16;

/// Returns the default configuration under a policy, with a market and practically no limit on
/// tasks per node. Many tasks on one node make predictions most expensive.
pub(crate) fn config(policy: &str) -> ServiceConfig {
    ServiceConfig {
        policy: Some(policy.to_owned()),
        market: "commodity".to_owned(),
        max_resident: 1_000,
        ..ServiceConfig::default()
    }
}

/// Runs the service. The clock of its simulated host stands still, so jobs never end.
pub(crate) fn serve(path: &Path, policy: &str) {
    let folder = DataDir::lock(path).expect("a folder");
    let world = SimHost::new(NODES, 1 << 30, SimProgram::of_command);
    let rules = config(policy)
        .rules(&tollgate_policies::builtin_registry())
        .expect("settings");
    let engine = SimEngine::open(&world);
    tollgate_server::serve(&folder, engine, &rules, ServeOptions::default(), |_, _| {})
        .expect("it serves");
}

/// A service process, killed on drop.
pub(crate) struct BenchServer {
    child: Child,
    folder: tempfile::TempDir,
}

impl BenchServer {
    pub(crate) fn start(folder: tempfile::TempDir, policy: &str) -> Self {
        let this = std::env::current_exe().expect("this program");
        let child = Command::new(this)
            .arg("__serve")
            .arg(folder.path())
            .arg(policy)
            .spawn()
            .expect("a process");
        let server = Self { child, folder };
        while server.connect().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    /// Connects to the service. None before it is ready.
    fn connect(&self) -> Option<ApiClient> {
        let mut client = ApiClient::connect(&data_dir::socket(self.folder.path())).ok()?;
        client.get::<ServiceStatus>("/v1/status").ok()?;
        Some(client)
    }

    pub(crate) fn client(&self) -> ApiClient {
        self.connect().expect("it answers")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for BenchServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
