//! The entry points of the fuzz targets. The module is hidden, and public only for the targets and for
//! tests that run them without a fuzzer.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tollgate_model::AttemptId;
use tollgate_sealed::has_message;

use crate::hosts::{JobHosts, parse_hosts};
use crate::message::{LeadMessage, PartMessage, PartTicket};

/// Parses `data` as messages of both sides of a connection, as an encrypted stream and as a ticket, and checks
/// that a message survives encoding and decoding. Returns false if `data` is nothing of these.
pub fn messages(data: &[u8]) -> bool {
    let is_stream = has_message::<PartMessage>(data);
    let ticket = serde_json::from_slice::<PartTicket>(data);
    if let Ok(ticket) = &ticket {
        let text = serde_json::to_vec(ticket).expect("our own type");
        let again: PartTicket = serde_json::from_slice(&text).expect("what was written");
        assert_eq!(again.addresses, ticket.addresses);
    }
    message::<LeadMessage>(data) | message::<PartMessage>(data) | is_stream | ticket.is_ok()
}

fn message<T: DeserializeOwned + Serialize + PartialEq + Debug>(data: &[u8]) -> bool {
    let Ok(message) = postcard::from_bytes::<T>(data) else {
        return false;
    };
    let bytes = postcard::to_stdvec(&message).expect("our own type");
    let again: T = postcard::from_bytes(&bytes).expect("what was written");
    assert_eq!(message, again);
    true
}

/// Parses `data` as a list of hosts, and checks that copies are assigned once each, to hosts that have
/// room for them. Returns false if `data` does not parse.
pub fn hosts(data: &[u8]) -> bool {
    let text = std::str::from_utf8(data).ok();
    let Some(hosts) = text.and_then(parse_hosts) else {
        return false;
    };
    let job = JobHosts {
        attempt: AttemptId {
            job: 1,
            task: 0,
            attempt: 1,
        },
        here: String::new(),
        hosts,
    };
    let first = job.hosts.first().map(|(host, _)| host.clone());
    for (n, on) in [(None, None), (Some(7), None), (Some(3), first.as_deref())] {
        let Ok(copies) = job.assign(n, on) else {
            continue;
        };
        let ranks: Vec<u32> = copies.iter().flat_map(|host| host.ranks.clone()).collect();
        assert!(ranks.iter().copied().eq(0..ranks.len() as u32), "each once");
        assert!(n.is_none_or(|n| ranks.len() == n as usize));
        let has_room = |host: &str, copies: usize| {
            let its = job.hosts.iter().filter(|(name, _)| name == host);
            its.map(|(_, procs)| u64::from(*procs)).sum::<u64>() >= copies as u64
        };
        assert!(
            copies
                .iter()
                .all(|host| has_room(&host.host, host.ranks.len()))
        );
    }
    true
}
