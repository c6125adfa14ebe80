//! A service in a process of its own.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use tollgate_engine::sim_engine::SimProgram;
use tollgate_engine::{SimEngine, SimHost};
use tollgate_service::{ApiClient, DataDir, ServeOptions, ServiceConfig, data_dir};

/// Cores of the machine that runs nothing.
pub(crate) const NODES: u32 = 16;

/// The settings: what a site gets that sets nothing, but somebody pays, and as many tasks share a
/// core as come: more on one than any site would want is what is hardest to look ahead over.
pub(crate) fn config() -> ServiceConfig {
    ServiceConfig {
        market: "commodity".to_owned(),
        max_resident: 1_000,
        ..ServiceConfig::default()
    }
}

/// The service itself. Its machine's clock stands still, so that what runs never ends.
pub(crate) fn serve(path: &Path) {
    let folder = DataDir::lock(path).expect("a folder");
    let world = SimHost::new(NODES, 1 << 30, SimProgram::of_command);
    let rules = config().rules().expect("settings");
    let engine = SimEngine::open(&world);
    tollgate_service::serve(&folder, engine, &rules, ServeOptions::default(), |_| {})
        .expect("it serves");
}

/// A service that ends with this.
pub(crate) struct BenchServer {
    child: Child,
    folder: tempfile::TempDir,
}

impl BenchServer {
    pub(crate) fn start(folder: tempfile::TempDir) -> Self {
        let this = std::env::current_exe().expect("this program");
        let child = Command::new(this)
            .arg("__serve")
            .arg(folder.path())
            .spawn()
            .expect("a process");
        let server = Self { child, folder };
        while server.connect().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    fn connect(&self) -> Option<ApiClient> {
        ApiClient::connect(&data_dir::socket(self.folder.path())).ok()
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
