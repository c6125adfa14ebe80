//! The memory that the control groups of this process leave it: a batch system may have put it into one.

use std::fs;
use std::path::Path;

use super::mounts::{CgroupHierarchy, MountTable};

/// Returns the least limit of the groups that this process is in, in bytes. None if none of them has a limit.
pub(crate) fn limit() -> Option<u64> {
    let table = MountTable::read();
    let hierarchies = [
        (CgroupHierarchy::Unified, "memory.max"),
        (
            CgroupHierarchy::V1("memory".to_owned()),
            "memory.limit_in_bytes",
        ),
    ];
    let limits = hierarchies.into_iter().filter_map(|(hierarchy, file)| {
        let place = table.find(&hierarchy)?;
        least(&place.dir, &place.mount, file)
    });
    limits.min()
}

/// Returns the least limit from a group up to the mount point of its hierarchy.
fn least(group: &Path, mount: &Path, file: &str) -> Option<u64> {
    let groups = group.ancestors().take_while(|dir| dir.starts_with(mount));
    let limits = groups.filter_map(|dir| parse(&fs::read_to_string(dir.join(file)).ok()?));
    limits.min()
}

/// Parses a limit. None for `max`. Version 1 has a number near 2^63 in its place, which is above every
/// memory.
fn parse(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_limit_of_all_parents_counts() {
        let mount = tempfile::tempdir().unwrap();
        let group = mount.path().join("job/step");
        fs::create_dir_all(&group).unwrap();
        let file = "memory.max";
        assert_eq!(least(&group, mount.path(), file), None);
        fs::write(group.join(file), "max\n").unwrap();
        fs::write(mount.path().join("job").join(file), "1048576000\n").unwrap();
        fs::write(mount.path().join(file), "9223372036854771712\n").unwrap();
        assert_eq!(least(&group, mount.path(), file), Some(1_048_576_000));
    }
}
