//! Faults of the service itself and of its disk.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};

use tollgate_server::failpoint::{FaultInjector, ServiceFailpoint};

use super::random::SplitMix;

/// The panic payload of a simulated crash.
pub(crate) struct SimulatedCrash;

/// Faults of the service itself.
#[derive(Clone, Copy, Default)]
pub(crate) struct ServiceFaults {
    /// Number of failpoints until a crash.
    pub(crate) crash_in: Option<u32>,
    /// Number of writes that fail from now on.
    pub(crate) writes_fail: u32,
    /// Whether the writes fail because the disk is full.
    pub(crate) disk_full: bool,
}

impl ServiceFaults {
    /// Draws a disk that fails some of the next writes.
    pub(crate) fn draw_disk(&mut self, random: &mut SplitMix) {
        self.writes_fail = random.below(4) as u32;
        self.disk_full = random.one_in(2);
    }
}

/// Returns an injector that crashes at the chosen failpoint and fails writes.
pub(crate) fn fault_injector(faults: &Arc<Mutex<ServiceFaults>>) -> FaultInjector {
    let faults = Arc::clone(faults);
    Box::new(move |moment| {
        let mut faults = faults.lock().unwrap();
        match faults.crash_in {
            Some(0) => {
                faults.crash_in = None;
                drop(faults);
                resume_unwind(Box::new(SimulatedCrash));
            }
            Some(moments) => faults.crash_in = Some(moments - 1),
            None => {}
        }
        let writes = matches!(
            moment,
            ServiceFailpoint::Decided | ServiceFailpoint::SnapshotStarting
        );
        if !writes || faults.writes_fail == 0 {
            return Ok(());
        }
        faults.writes_fail -= 1;
        Err(match faults.disk_full {
            true => io::ErrorKind::StorageFull.into(),
            false => io::ErrorKind::Other.into(),
        })
    })
}
