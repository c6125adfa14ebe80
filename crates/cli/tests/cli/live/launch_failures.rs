//! Jobs that cannot be launched for what the site lacks.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::site::ClientTestSite;

/// A file system without room for another file.
struct FullDisk(PathBuf);

impl FullDisk {
    /// Mounts one in the directory of a site; None if this user may not mount.
    fn mount(site: &ClientTestSite) -> Option<Self> {
        let path = site.folder().join("full");
        fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k,nr_inodes=2", "tollgate-test"])
            .arg(&path)
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            eprintln!("nothing is tested: this user may not mount");
            return None;
        }
        let disk = Self(path);
        fs::write(disk.0.join("filler"), "").unwrap();
        Some(disk)
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for FullDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn job_whose_output_finds_no_room_is_held_for_its_next_launch_and_not_ended() {
    let site = ClientTestSite::start("");
    let Some(disk) = FullDisk::mount(&site) else {
        return;
    };
    let words = ["submit", "-q", "-e", "1s", "--deadline", "+1h"];
    let output = ["-o", "full/out", "--", "echo", "there was room"];
    let job = site.tollgate(&[&words[..], &output].concat()).answer();
    let job = job.trim();
    let why = || site.tollgate(&["explain", job]).answer();
    site.until("the launch has failed", || why().contains("held until"));
    let said = why();
    assert!(said.contains("No space left on device"), "{said}");
    assert!(said.contains("launches that failed: 1 of 5"), "{said}");
    disk.make_room();
    site.tollgate(&["release", job]).answer();
    assert_eq!(site.tollgate(&["wait", job]).code, Some(0));
    let written = fs::read_to_string(disk.0.join("out")).unwrap();
    assert_eq!(written, "there was room\n");
    let explained = site.tollgate(&["explain", job, "--format", "json"]).json();
    assert_eq!(explained["job"]["promise"], "kept");
    assert_eq!(explained["job"]["attempts"], 2);
}
