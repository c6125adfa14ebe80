//! Memory, arrays, signals and devices as `sbatch` takes them.

use std::collections::BTreeMap;

/// Parses memory: a whole number, without a unit of MiB, with K, M, G or T and perhaps a B of that unit. The answer is in
/// bytes, and 0 stands for all memory of a host. None if the text has another form.
pub(crate) fn parse_memory(text: &str) -> Option<u64> {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let power = match text[end..].to_ascii_lowercase().as_str() {
        "" | "m" | "mb" => 2,
        "k" | "kb" => 1,
        "g" | "gb" => 3,
        "t" | "tb" => 4,
        _ => return None,
    };
    number.checked_mul(1024_u64.pow(power))
}

/// The tasks of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlurmArray {
    /// The tasks as a request has them: `1-9:2%4`.
    pub(crate) tasks: String,
    /// The least number of a task.
    pub(crate) min: u32,
    /// The greatest number of a task.
    pub(crate) max: u32,
    /// The number of tasks.
    pub(crate) count: u64,
    /// The step of a single range, else 1.
    pub(crate) step: u32,
}

/// Parses `1-9`, `1,3-5`, `0-9:2`, each perhaps in brackets and with `%4` for the maximum number at a time. None if the
/// text has another form.
pub(crate) fn parse_array(text: &str) -> Option<SlurmArray> {
    let (list, at_once) = match text.split_once('%') {
        Some((list, most)) => (list, Some(most.trim_end_matches(']'))),
        None => (text, None),
    };
    let list = list.strip_prefix('[').unwrap_or(list);
    let list = list.strip_suffix(']').unwrap_or(list);
    let number = |part: &str| {
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<u32>().ok()).flatten()
    };
    let at_once = match at_once {
        Some(most) => Some(number(most).filter(|most| *most > 0)?),
        None => None,
    };
    let mut array = SlurmArray {
        tasks: String::new(),
        min: u32::MAX,
        max: 0,
        count: 0,
        step: 1,
    };
    let ranges: Vec<&str> = list.split(',').collect();
    for range in &ranges {
        let (ends, step) = match range.split_once(':') {
            Some((ends, step)) => (ends, number(step).filter(|step| *step > 0)?),
            None => (*range, 1),
        };
        let (first, last) = match ends.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(ends)?, number(ends)?),
        };
        if first > last {
            return None;
        }
        let last = last - (last - first) % step;
        array.min = array.min.min(first);
        array.max = array.max.max(last);
        array.count += u64::from((last - first) / step) + 1;
        if ranges.len() == 1 {
            array.step = step;
        }
        if !array.tasks.is_empty() {
            array.tasks.push(',');
        }
        array.tasks.push_str(&match (first == last, step) {
            (true, _) => first.to_string(),
            (false, 1) => format!("{first}-{last}"),
            (false, step) => format!("{first}-{last}:{step}"),
        });
    }
    if let Some(most) = at_once {
        array.tasks.push_str(&format!("%{most}"));
    }
    Some(array)
}

/// The signals that a job can get, with the numbers of Linux.
pub(crate) const SIGNALS: [(&str, u8); 9] = [
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("KILL", 9),
    ("USR1", 10),
    ("USR2", 12),
    ("TERM", 15),
    ("CONT", 18),
    ("XCPU", 24),
];

/// Returns the name of a signal, which is typed by name, with or without `SIG`, in any case, or by number. None for an
/// unknown one.
pub fn signal_name(text: &str) -> Option<&'static str> {
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let found = SIGNALS
        .iter()
        .find(|(known, number)| *known == name || number.to_string() == text);
    found.map(|(known, _)| *known)
}

/// Parses `[B:|R:]SIGNAL[@SECONDS]`; without a time it is 60 s. None if the text has another form or another signal.
pub(crate) fn parse_signal(text: &str) -> Option<(&'static str, f64)> {
    let recipients = ["B:", "R:", "RB:", "BR:"];
    let rest = recipients
        .iter()
        .find_map(|recipients| text.strip_prefix(recipients));
    let rest = rest.unwrap_or(text);
    let (name, before) = match rest.split_once('@') {
        Some((name, before)) => (name, before.parse::<u16>().ok()?),
        None => (rest, 60),
    };
    Some((signal_name(name)?, f64::from(before)))
}

/// Parses devices: `gpu`, `gpu:2`, `gpu:a100:1`, `gres/gpu:1`, joined by commas. A count of 0 is none. None if a part has
/// another form.
pub(crate) fn parse_devices(text: &str) -> Option<BTreeMap<String, u8>> {
    let mut devices = BTreeMap::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        if part.eq_ignore_ascii_case("none") {
            continue;
        }
        let part = part
            .strip_prefix("gres/")
            .or_else(|| part.strip_prefix("gres:"))
            .unwrap_or(part);
        // Sites mark what jobs may share; it changes no count.
        let part = part.split('(').next().unwrap_or(part);
        let part = part.replace('=', ":");
        let (name, count) = match part.rsplit_once(':') {
            Some((name, count)) if count.bytes().all(|byte| byte.is_ascii_digit()) => {
                (name.to_owned(), count.parse::<u8>().ok()?)
            }
            _ => (part.clone(), 1),
        };
        let has_letter = name.contains(|letter: char| letter.is_ascii_alphabetic());
        if !has_letter {
            return None;
        }
        if count > 0 {
            let before = devices.get(&name).copied().unwrap_or(0_u8);
            devices.insert(name, before.checked_add(count)?);
        }
    }
    Some(devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_without_a_unit_is_in_mebibytes() {
        for (text, bytes) in [
            ("100", 100 << 20),
            ("4G", 4 << 30),
            ("4gb", 4 << 30),
            ("1024K", 1 << 20),
            ("1T", 1 << 40),
            ("0", 0),
        ] {
            assert_eq!(parse_memory(text), Some(bytes), "{text}");
        }
        for text in ["", "1.5G", "lots", "-1", "1GiB", "4 G"] {
            assert_eq!(parse_memory(text), None, "{text}");
        }
    }

    #[test]
    fn arrays_are_parsed_with_their_bounds() {
        for (text, tasks, min, max, count, step) in [
            ("1-9", "1-9", 1, 9, 9, 1),
            ("1,3-5", "1,3-5", 1, 5, 4, 1),
            ("0-9:2", "0-8:2", 0, 8, 5, 2),
            ("0-3%2", "0-3%2", 0, 3, 4, 1),
            ("[0-4]%3", "0-4%3", 0, 4, 5, 1),
            ("[0-4%3]", "0-4%3", 0, 4, 5, 1),
            ("001-010", "1-10", 1, 10, 10, 1),
            ("7", "7", 7, 7, 1, 1),
        ] {
            let expected = SlurmArray {
                tasks: tasks.to_owned(),
                min,
                max,
                count,
                step,
            };
            assert_eq!(parse_array(text), Some(expected), "{text}");
        }
        for text in [
            "", "x", "3-1", "1-", "1-9:0", "1-9%0", "1,,2", "-1", "1-2-3",
        ] {
            assert_eq!(parse_array(text), None, "{text}");
        }
    }

    #[test]
    fn signals_are_typed_by_name_or_number() {
        assert_eq!(parse_signal("USR2@90"), Some(("USR2", 90.0)));
        assert_eq!(parse_signal("B:SIGUSR2@30"), Some(("USR2", 30.0)));
        assert_eq!(parse_signal("10"), Some(("USR1", 60.0)));
        assert_eq!(parse_signal("R:usr1"), Some(("USR1", 60.0)));
        for text in ["", "USR3", "USR2@soon", "USR2@-1", "X:USR2"] {
            assert_eq!(parse_signal(text), None, "{text}");
        }
    }

    #[test]
    fn devices_are_counted_by_name() {
        let of = |text| parse_devices(text).map(|devices| format!("{devices:?}"));
        assert_eq!(of("gpu").as_deref(), Some("{\"gpu\": 1}"));
        assert_eq!(
            of("gpu:2,fpga:1").as_deref(),
            Some("{\"fpga\": 1, \"gpu\": 2}")
        );
        assert_eq!(of("gpu:a100:2").as_deref(), Some("{\"gpu:a100\": 2}"));
        assert_eq!(of("gres/gpu:1").as_deref(), Some("{\"gpu\": 1}"));
        assert_eq!(of("gpu:0").as_deref(), Some("{}"));
        assert_eq!(of("gpu:999"), None);
        assert_eq!(of("1"), None);
    }
}
