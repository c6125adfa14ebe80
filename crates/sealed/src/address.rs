//! The addresses of this host, by which the other hosts of a job can reach it.

use std::env;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

/// The variable with the address that the other hosts use, where a host has several and only one is right.
const ADDRESS_VARIABLE: &str = "TOLLGATE_SPREAD_ADDRESS";
/// The address types of IPv6 addresses that are valid beyond their link, in `/proc/net/if_inet6`.
const GLOBAL_SCOPE: &str = "00";

/// An error of listening for parts.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The variable holds no address.
    #[error("{ADDRESS_VARIABLE}={0}: not an IP address")]
    InvalidAddress(String),
    /// The system refuses.
    #[error("cannot listen for the other hosts of the job: {0}")]
    System(#[from] std::io::Error),
}

/// Listens on a port of the system's choice. Returns the addresses for other hosts, the best one first.
///
/// # Errors
/// If the variable `TOLLGATE_SPREAD_ADDRESS` holds no address, or the system refuses.
pub fn listen() -> Result<(TcpListener, Vec<String>), ListenError> {
    let (candidates, hosts) = match env::var(ADDRESS_VARIABLE) {
        Ok(text) => {
            let address: IpAddr = text
                .parse()
                .map_err(|_| ListenError::InvalidAddress(text))?;
            (vec![address], vec![address])
        }
        Err(_) => (
            vec![Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()],
            own_addresses(),
        ),
    };
    let candidates: Vec<SocketAddr> = candidates
        .into_iter()
        .map(|address| SocketAddr::new(address, 0))
        .collect();
    // A host without IPv6 listens for IPv4 alone.
    let listener = TcpListener::bind(&candidates[..])?;
    let port = listener.local_addr()?.port();
    let addresses = hosts
        .into_iter()
        .map(|host| SocketAddr::new(host, port).to_string());
    Ok((listener, addresses.collect()))
}

/// Returns the addresses of this host: loopback last.
fn own_addresses() -> Vec<IpAddr> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let mut all: Vec<IpAddr> = ipv4_addresses(&read("/proc/net/fib_trie"));
    all.extend(ipv6_addresses(&read("/proc/net/if_inet6")));
    all.retain(|address| !address.is_loopback());
    all.push(Ipv4Addr::LOCALHOST.into());
    all
}

/// Returns the local addresses in a routing table as `/proc/net/fib_trie` prints it: each is a line
/// before one that says `host LOCAL`.
fn ipv4_addresses(table: &str) -> Vec<IpAddr> {
    let mut found: Vec<IpAddr> = Vec::new();
    let lines: Vec<&str> = table.lines().map(str::trim).collect();
    for pair in lines.windows(2) {
        let address = pair[0].strip_prefix("|-- ").map(str::parse::<Ipv4Addr>);
        if let (Some(Ok(address)), true) = (address, pair[1].ends_with("host LOCAL"))
            && !found.contains(&address.into())
        {
            found.push(address.into());
        }
    }
    found
}

/// Returns the global addresses in a list as `/proc/net/if_inet6` prints it: address, interface number,
/// prefix length, scope, flags, interface.
fn ipv6_addresses(list: &str) -> Vec<IpAddr> {
    let address = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_global = words.get(3) == Some(&GLOBAL_SCOPE);
        let number = u128::from_str_radix(words.first()?, 16).ok()?;
        is_global.then(|| IpAddr::from(Ipv6Addr::from(number)))
    };
    list.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_addresses_are_found_once_each() {
        let table = "\
Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 10.77.0.0/24 2 0 2
        |-- 10.77.0.0
           /24 link UNICAST
        |-- 10.77.0.5
           /32 host LOCAL
        |-- 10.77.0.255
           /32 link BROADCAST
Local:
        |-- 10.77.0.5
           /32 host LOCAL
        |-- 127.0.0.1
           /32 host LOCAL
";
        let found = ipv4_addresses(table);
        let expected: Vec<IpAddr> = vec![[10, 77, 0, 5].into(), [127, 0, 0, 1].into()];
        assert_eq!(found, expected);
    }

    #[test]
    fn link_local_addresses_are_left_out() {
        let list = "\
00000000000000000000000000000001 01 80 10 80       lo
fe80000000000000004200fffe110002 02 40 20 80     eth0
20010db8000000000000000000000007 02 40 00 80     eth0
";
        let expected: IpAddr = "2001:db8::7".parse().unwrap();
        assert_eq!(ipv6_addresses(list), [expected]);
    }

    #[test]
    fn every_host_has_an_address() {
        let last = own_addresses().pop().unwrap();
        assert!(last.is_loopback());
    }
}
