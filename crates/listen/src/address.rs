//! The addresses that may be one machine.

use std::net::IpAddr;

/// An address range that may well be one machine: an IPv4 address, or the 64-bit prefix of an IPv6
/// address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AddressPrefix {
    /// An IPv4 address.
    V4(u32),
    /// The first 64 bits of an IPv6 address.
    V6(u64),
}

impl From<IpAddr> for AddressPrefix {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::V4(address.to_bits()),
            IpAddr::V6(address) => Self::V6((address.to_bits() >> 64) as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_machine_have_equal_prefixes() {
        let prefix = |text: &str| AddressPrefix::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(prefix("192.0.2.1"), prefix("::ffff:192.0.2.1"));
        assert_ne!(prefix("192.0.2.1"), prefix("192.0.2.2"));
        assert_eq!(prefix("2001:db8::1"), prefix("2001:db8::ffff:2"));
        assert_ne!(prefix("2001:db8::1"), prefix("2001:db8:0:1::1"));
    }
}
