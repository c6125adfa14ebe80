//! The numbers of processors in a record, in the notations of PBS and Torque.

use super::attributes::PbsAttributes;
use crate::finding::Finding;
use crate::parse_field;
use crate::record_field::RecordField;

/// Returns the allocated processors: the slots of `exec_host`, else the processors of `exec_vnode`; or the
/// processors used if those are more.
pub(super) fn allocated(attributes: &PbsAttributes<'_>, notes: &mut Vec<Finding>) -> Option<u32> {
    let used = count(attributes, b"resources_used.ncpus", notes);
    let slots = match attributes.get(b"exec_host") {
        Some(hosts) => slots(hosts),
        None => attributes.get(b"exec_vnode").map_or(Ok(None), vnodes),
    };
    let total = count(attributes, b"total_execution_slots", notes);
    used.max(parse_field::usable(slots, RecordField::Procs, notes))
        .or(total)
}

/// Returns the requested processors: the most that any of the resources asks for.
pub(super) fn requested(attributes: &PbsAttributes<'_>, notes: &mut Vec<Finding>) -> Option<u32> {
    let names: [&[u8]; 3] = [
        b"Resource_List.ncpus",
        b"Resource_List.procs",
        b"Resource_List.mppwidth",
    ];
    let counts = names.map(|name| count(attributes, name, notes));
    let chunks: [&[u8]; 2] = [b"Resource_List.nodes", b"Resource_List.select"];
    let chunks = chunks.map(|name| {
        let read = attributes.get(name).map_or(Ok(None), node_slots);
        parse_field::usable(read, RecordField::Procs, notes)
    });
    counts.into_iter().chain(chunks).max().flatten()
}

fn count(attributes: &PbsAttributes<'_>, name: &[u8], notes: &mut Vec<Finding>) -> Option<u32> {
    let count = attributes.get(name).map_or(Ok(None), parse_field::procs);
    parse_field::usable(count, RecordField::Procs, notes)
}

/// Counts the processors in `n33/7+n33/6` (two), `n33/0*13` (13) or `n33/0-3,7` (five).
fn slots(hosts: &[u8]) -> Result<Option<u32>, Finding> {
    sum(hosts.split(|byte| b"+,".contains(byte)).map(width))
}

/// Counts the processors in `(n1:ncpus=4:mem=4gb)+(n2:ncpus=2)` (six). A part without processors has
/// memory alone.
fn vnodes(parts: &[u8]) -> Result<Option<u32>, Finding> {
    let parts = parts.split(|byte| b"+()".contains(byte));
    sum(parts.map(|part| {
        let mut resources = part.split(|&byte| byte == b':');
        let count = resources.find_map(|resource| resource.strip_prefix(b"ncpus="));
        count.map_or(Some(0), |count| {
            std::str::from_utf8(count).ok()?.parse().ok()
        })
    }))
}

/// Counts the processors in `4:ppn=8` (32), `n33:ppn=2+1` (three) or `2:ncpus=4+1:ncpus=2` (ten). A
/// policy for all nodes may follow (`4:ppn=8#excl`).
fn node_slots(nodes: &[u8]) -> Result<Option<u32>, Finding> {
    let nodes = nodes.split(|&byte| byte == b'#').next().unwrap_or_default();
    sum(nodes.split(|&byte| byte == b'+').map(node_width))
}

fn sum(mut widths: impl Iterator<Item = Option<u32>>) -> Result<Option<u32>, Finding> {
    let sum = widths.try_fold(0u32, |sum, width| sum.checked_add(width?));
    let sum = sum.ok_or(Finding::NotANumber(RecordField::Procs))?;
    parse_field::procs(sum.to_string().as_bytes())
}

/// Returns the number of nodes (one for a name) times the processors per node.
fn node_width(nodes: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(nodes).ok()?;
    let count: u32 = text.split(':').next()?.parse().unwrap_or(1);
    let mut parts = text.split(':');
    let per_node = parts.find_map(|part| {
        let number = part.strip_prefix("ppn=");
        number.or_else(|| part.strip_prefix("ncpus="))
    });
    count.checked_mul(per_node.map_or(Ok(1), str::parse).ok()?)
}

/// Returns the processors of one slot or range of slots; the host's name may also contain a dash.
fn width(slot: &[u8]) -> Option<u32> {
    let slot = slot.rsplit(|&byte| byte == b'/').next()?;
    let slot = std::str::from_utf8(slot).ok()?;
    if let Some((_, count)) = slot.split_once('*') {
        return count.parse().ok();
    }
    let (first, last) = slot.split_once('-').unwrap_or((slot, slot));
    match (first.parse::<u32>(), last.parse::<u32>()) {
        (Ok(first), Ok(last)) => last.checked_sub(first)?.checked_add(1),
        (Err(_), Ok(_) | Err(_)) | (Ok(_), Err(_)) => Some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_counted_in_every_notation() {
        for (hosts, count) in [
            ("n/7+n/6", 2),
            ("n/0*13+m/0*13", 26),
            ("n/0-3,7", 5),
            ("n", 1),
        ] {
            assert_eq!(slots(hosts.as_bytes()), Ok(Some(count)), "{hosts}");
        }
        for hosts in ["n/3-1", "n/0*x", "n/0*4294967295+n/1"] {
            let wrong = Err(Finding::NotANumber(RecordField::Procs));
            assert_eq!(slots(hosts.as_bytes()), wrong, "{hosts}");
        }
    }

    #[test]
    fn nodes_are_counted_by_processors() {
        for (nodes, count) in [
            ("4:ppn=8", 32),
            ("1:ppn=28:gpus=1", 28),
            ("n33:ppn=2+1", 3),
            ("2:ppn=3#excl", 6),
            ("2:ncpus=4:mem=2gb+1:ncpus=2", 10),
            ("ncpus=3:mem=1gb", 3),
        ] {
            assert_eq!(node_slots(nodes.as_bytes()), Ok(Some(count)), "{nodes}");
        }
        assert_eq!(
            vnodes(b"(n1:ncpus=4:mem=4gb)+(n2:ncpus=2+n3:mem=1gb)"),
            Ok(Some(6))
        );
        assert!(vnodes(b"(n1:ncpus=x)").is_err());
        assert_eq!(node_slots(b"0"), Ok(None));
        assert_eq!(slots(b"n/0*0"), Ok(None));
    }

    #[test]
    fn request_has_many_names() {
        for (text, procs) in [
            ("Resource_List.ncpus=8", Some(8)),
            ("Resource_List.procs=12 Resource_List.nodect=1", Some(12)),
            ("Resource_List.mppwidth=24", Some(24)),
            ("Resource_List.select=2:ncpus=4", Some(8)),
            ("Resource_List.nodes=2:ppn=2 Resource_List.ncpus=1", Some(4)),
            ("Resource_List.nodect=1", None),
        ] {
            let attributes = PbsAttributes::split(text.as_bytes());
            assert_eq!(requested(&attributes, &mut Vec::new()), procs, "{text}");
        }
    }
}
