//! The mount points of control groups, and the position of this process in them.

use std::fs;
use std::path::PathBuf;

/// A hierarchy of control groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CgroupHierarchy {
    /// The single hierarchy of version 2.
    Unified,
    /// The hierarchy of version 1 with this controller.
    V1(String),
}

/// The contents of `/proc/self/mountinfo` and `/proc/self/cgroup`.
pub(super) struct MountTable {
    mountinfo: String,
    cgroup: String,
}

/// A position in a hierarchy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CgroupMount {
    /// The mount point of the hierarchy.
    pub(super) mount: PathBuf,
    /// The directory of this process's own group.
    pub(super) dir: PathBuf,
}

impl MountTable {
    pub(super) fn read() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self {
            mountinfo: read("/proc/self/mountinfo"),
            cgroup: read("/proc/self/cgroup"),
        }
    }

    /// Returns the position of this process in a hierarchy; None if it is not mounted, or not from
    /// that position on.
    pub(super) fn find(&self, hierarchy: &CgroupHierarchy) -> Option<CgroupMount> {
        let own = self.own_path(hierarchy)?;
        let (root, mount) = self
            .mountinfo
            .lines()
            .find_map(|line| parse_mount(line, hierarchy))?;
        let below = own.strip_prefix(root.trim_end_matches('/'))?;
        let mount = PathBuf::from(mount);
        Some(CgroupMount {
            dir: mount.join(below.trim_start_matches('/')),
            mount,
        })
    }

    /// Returns the own path in a hierarchy, from lines such as `4:memory:/a/b`, or `0::/a/b` in
    /// version 2.
    fn own_path(&self, hierarchy: &CgroupHierarchy) -> Option<&str> {
        self.cgroup.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let is_it = match hierarchy {
                CgroupHierarchy::Unified => controllers.is_empty(),
                CgroupHierarchy::V1(controller) => {
                    controllers.split(',').any(|own| own == controller)
                }
            };
            is_it.then_some(path)
        })
    }
}

/// Returns the root and the mount point in a line about this hierarchy:
/// `36 31 0:33 /root /mount/point options .. - cgroup source rw,memory`.
fn parse_mount<'a>(line: &'a str, hierarchy: &CgroupHierarchy) -> Option<(&'a str, &'a str)> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(3);
    let (root, mount) = (front.next()?, front.next()?);
    let mut back = back.split(' ');
    let (kind, options) = (back.next()?, back.nth(1)?);
    let is_it = match hierarchy {
        CgroupHierarchy::Unified => kind == "cgroup2",
        CgroupHierarchy::V1(controller) => {
            kind == "cgroup" && options.split(',').any(|option| option == controller)
        }
    };
    is_it.then_some((root, mount))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts() -> MountTable {
        MountTable {
            mountinfo: "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n\
                35 31 0:32 /box /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
                .to_owned(),
            cgroup: "4:memory:/box/a\n2:cpu,cpuacct:/\n1:pids:/\n0::/user.slice/b\n".to_owned(),
        }
    }

    fn dir(hierarchy: &CgroupHierarchy) -> Option<String> {
        mounts()
            .find(hierarchy)
            .map(|place| place.dir.display().to_string())
    }

    #[test]
    fn own_cgroups_are_found_below_their_mounts() {
        let v1 = |controller: &str| dir(&CgroupHierarchy::V1(controller.to_owned()));
        assert_eq!(
            v1("cpuacct").as_deref(),
            Some("/sys/fs/cgroup/cpu,cpuacct/")
        );
        assert_eq!(v1("memory").as_deref(), Some("/sys/fs/cgroup/memory/a"));
        assert_eq!(v1("pids"), None, "it is not mounted");
        assert_eq!(v1("blkio"), None);
        let unified = dir(&CgroupHierarchy::Unified);
        assert_eq!(
            unified.as_deref(),
            Some("/sys/fs/cgroup/unified/user.slice/b")
        );
    }
}
