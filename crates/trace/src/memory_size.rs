//! Amounts of memory as accounting tools print them: a number and a unit.

use tollgate_model::Bytes;

use crate::finding::Finding;
use crate::parse_field;
use crate::record_field::RecordField;

const KIBI: u64 = 1 << 10;

/// Parses an amount in Slurm's notation: `62.50G`, `114944K`; `bare` is the unit of a number alone.
///
/// # Errors
/// If `text` is neither.
pub(crate) fn slurm(text: &[u8], bare: u64, field: RecordField) -> Result<Option<Bytes>, Finding> {
    amount(text, field, |unit| match unit {
        b"" => Some(bare),
        unit => binary(unit),
    })
}

/// Parses a number of bytes as users write it: `4294967296`, `4G`, `512M`; at least 1.
pub(crate) fn binary_bytes(words: &str) -> Option<u64> {
    let digits = words.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = match &words[digits.len()..] {
        "" => 1,
        unit => binary(unit.to_ascii_uppercase().as_bytes())?,
    };
    let number: u64 = digits.parse().ok()?;
    number.checked_mul(unit).filter(|&bytes| bytes > 0)
}

/// Parses an amount in the notation of Grid Engine, where capitals count by 1024 and others by
/// 1000.
///
/// # Errors
/// If `text` is not in this notation.
pub(crate) fn grid_engine(text: &[u8], field: RecordField) -> Result<Option<Bytes>, Finding> {
    amount(text, field, |unit| match unit {
        b"" => Some(1),
        b"k" => Some(1_000),
        b"m" => Some(1_000_000),
        b"g" => Some(1_000_000_000),
        b"t" => Some(1_000_000_000_000),
        unit => binary(unit),
    })
}

/// Parses an amount in the notation of PBS: `15240kb`, in bytes or words of 8 bytes.
///
/// # Errors
/// If `text` is not in this notation.
pub(crate) fn pbs(text: &[u8], field: RecordField) -> Result<Option<Bytes>, Finding> {
    amount(text, field, |unit| {
        let unit = unit.to_ascii_uppercase();
        let (scale, size) = match unit.as_slice() {
            [scale @ .., b'W'] => (scale, 8),
            [scale @ .., b'B'] => (scale, 1),
            scale => (scale, 1),
        };
        Some(size * if scale.is_empty() { 1 } else { binary(scale)? })
    })
}

/// Parses an amount in the notation of LSF: `1000.00`, in MB, or with a unit as in `4GB` and `500M`.
///
/// # Errors
/// If `text` is not in this notation.
pub(crate) fn lsf(text: &[u8], field: RecordField) -> Result<Option<Bytes>, Finding> {
    amount(text, field, |unit| {
        let unit = unit.to_ascii_uppercase();
        match unit.strip_suffix(b"B").unwrap_or(&unit) {
            b"" if unit.is_empty() => Some(1 << 20),
            scale => binary(scale),
        }
    })
}

fn amount(
    text: &[u8],
    field: RecordField,
    unit: impl Fn(&[u8]) -> Option<u64>,
) -> Result<Option<Bytes>, Finding> {
    let digits = text
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
        .count();
    let (number, suffix) = text.split_at(digits);
    let unit = unit(suffix).ok_or(Finding::NotANumber(field))?;
    parse_field::bytes(number, unit, field)
}

fn binary(unit: &[u8]) -> Option<u64> {
    let power = match unit {
        b"K" => 1,
        b"M" => 2,
        b"G" => 3,
        b"T" => 4,
        b"P" => 5,
        _ => return None,
    };
    Some(KIBI.pow(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELD: RecordField = RecordField::PeakMemory;

    #[test]
    fn units_of_every_tool_are_read() {
        let read = |read: Result<Option<Bytes>, Finding>| read.unwrap().unwrap().as_u64();
        assert_eq!(read(slurm(b"62.50G", 1, FIELD)), 67_108_864_000);
        assert_eq!(read(slurm(b"3000", 1 << 20, FIELD)), 3_145_728_000);
        assert_eq!(read(grid_engine(b"1000M", FIELD)), 1_048_576_000);
        assert_eq!(read(grid_engine(b"1.5g", FIELD)), 1_500_000_000);
        assert_eq!(read(grid_engine(b"189153280.0", FIELD)), 189_153_280);
        assert_eq!(read(pbs(b"15240kb", FIELD)), 15_605_760);
        assert_eq!(read(pbs(b"2mw", FIELD)), 16_777_216);
        assert_eq!(read(pbs(b"100b", FIELD)), 100);
    }

    #[test]
    fn limit_is_a_whole_number_with_a_binary_unit() {
        assert_eq!(binary_bytes("100"), Some(100));
        assert_eq!(binary_bytes("16G"), Some(16 << 30));
        assert_eq!(binary_bytes("512m"), Some(512 << 20));
        for words in ["", "G", "0", "-1", "1.5G", "1GB", "99999999999T"] {
            assert_eq!(binary_bytes(words), None, "{words}");
        }
    }

    #[test]
    fn other_text_is_not_an_amount() {
        for text in ["", "G", "-1G", "1X", "1.2.3K", "1KB?"] {
            assert!(slurm(text.as_bytes(), 1, FIELD).is_err(), "{text}");
            assert!(grid_engine(text.as_bytes(), FIELD).is_err(), "{text}");
            assert!(pbs(text.as_bytes(), FIELD).is_err(), "{text}");
        }
    }
}
