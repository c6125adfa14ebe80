//! A service in a process of its own.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use tollgate_engine::memory::Deed;
use tollgate_engine::{MemoryEngine, MemoryWorld};
use tollgate_service::{Client, Config, Doors, Folder, folder};

/// Cores of the machine that runs nothing.
pub(crate) const NODES: u32 = 16;

/// The settings: what a site gets that sets nothing, but somebody pays, and as many tasks share a
/// core as come: more on one than any site would want is what is hardest to look ahead over.
pub(crate) fn config() -> Config {
    Config {
        market: "commodity".to_owned(),
        max_resident: 1_000,
        ..Config::default()
    }
}

/// The service itself. Its machine's clock stands still, so that what runs never ends.
pub(crate) fn serve(path: &Path) {
    let folder = Folder::lock(path).expect("a folder");
    let world = MemoryWorld::new(NODES, 1 << 30, Deed::of_command);
    let rules = config().rules().expect("settings");
    let engine = MemoryEngine::open(&world);
    tollgate_service::serve(&folder, engine, &rules, Doors::default(), |_| {}).expect("it serves");
}

/// A service that ends with this.
pub(crate) struct Server {
    child: Child,
    folder: tempfile::TempDir,
}

impl Server {
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

    fn connect(&self) -> Option<Client> {
        Client::connect(&folder::socket(self.folder.path())).ok()
    }

    pub(crate) fn client(&self) -> Client {
        self.connect().expect("it answers")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
