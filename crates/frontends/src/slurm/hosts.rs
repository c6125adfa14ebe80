//! Lists of hosts: `n[1-3,7],login`.

/// Returns the hosts of a list, in its order. None if a bracket is not closed or a range is wrong.
pub fn expand(list: &str) -> Option<Vec<String>> {
    /// The maximum number of hosts of a list: more is a mistake.
    const MAX_HOSTS: usize = 100_000;
    let mut hosts = Vec::new();
    for word in split_outside_brackets(list)? {
        let mut names = vec![String::new()];
        let mut rest = word.as_str();
        while let Some((before, behind)) = rest.split_once('[') {
            let (inside, after) = behind.split_once(']')?;
            let numbers = expand_numbers(inside, MAX_HOSTS)?;
            if names.len().checked_mul(numbers.len())? > MAX_HOSTS {
                return None;
            }
            let with = |name: &String| {
                let beginnings = numbers.iter();
                let beginnings = beginnings.map(|number| format!("{name}{before}{number}"));
                beginnings.collect::<Vec<_>>()
            };
            names = names.iter().flat_map(with).collect();
            rest = after;
        }
        hosts.extend(names.into_iter().map(|name| name + rest));
        if hosts.len() > MAX_HOSTS {
            return None;
        }
    }
    Some(hosts)
}

fn split_outside_brackets(list: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut is_inside) = (Vec::new(), String::new(), false);
    for letter in list.chars() {
        match letter {
            '[' if is_inside => return None,
            ']' if !is_inside => return None,
            ',' if !is_inside => words.push(std::mem::take(&mut word)),
            _ => {
                is_inside = (is_inside || letter == '[') && letter != ']';
                word.push(letter);
            }
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    (!is_inside).then_some(words)
}

/// Returns the numbers of `1-3,07`, padded as their range is.
fn expand_numbers(text: &str, most: usize) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(first) || !is_number(last) {
            return None;
        }
        let width = first.len();
        let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        let count = to.checked_sub(from)?;
        if usize::try_from(count).ok()? >= most {
            return None;
        }
        all.extend((from..=to).map(|number| format!("{number:0width$}")));
    }
    Some(all)
}

/// Returns the shortest list of hosts in which numbers at the end of names are ranges. Hosts stay in their order, but
/// those of one name stand together.
pub fn compress<'a>(hosts: impl IntoIterator<Item = &'a str>) -> String {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for host in hosts {
        let name = host.trim_end_matches(|letter: char| letter.is_ascii_digit());
        // A longer number does not fit into a machine word and stays a part of the name.
        let (name, number) = match host.len() - name.len() {
            1..=18 => host.split_at(name.len()),
            _ => (host, ""),
        };
        let is_plain = |numbers: &Vec<&str>| numbers.contains(&"");
        match groups
            .iter_mut()
            .find(|(known, numbers)| *known == name && is_plain(numbers) == number.is_empty())
        {
            Some((_, numbers)) => numbers.push(number),
            None => groups.push((name, vec![number])),
        }
    }
    let lists = groups
        .iter()
        .map(|(name, numbers)| match numbers.as_slice() {
            [only] => format!("{name}{only}"),
            ["", ..] => vec![*name; numbers.len()].join(","),
            many => format!("{name}[{}]", ranges(many)),
        });
    lists.collect::<Vec<_>>().join(",")
}

/// Returns numbers with equal neighbours joined, as Slurm writes the tasks of hosts: `4(x2),1`.
pub fn repeated(numbers: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((known, count)) if *known == number => *count += 1,
            Some(_) | None => runs.push((number, 1)),
        }
    }
    let texts = runs.iter().map(|(number, count)| match count {
        1 => number.to_string(),
        _ => format!("{number}(x{count})"),
    });
    texts.collect::<Vec<_>>().join(",")
}

fn ranges(numbers: &[&str]) -> String {
    let mut ranges: Vec<(&str, &str)> = Vec::new();
    let value = |text: &str| text.parse::<u64>().unwrap_or(0);
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if value(last) + 1 == value(number) && last.len() == number.len() => {
                *last = number;
            }
            Some(_) | None => ranges.push((number, number)),
        }
    }
    let texts = ranges.iter().map(|(first, last)| match first == last {
        true => (*first).to_owned(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded_and_compressed() {
        for (list, hosts) in [
            ("n[1-3,7]", "n1 n2 n3 n7"),
            ("n[08-11]", "n08 n09 n10 n11"),
            ("alpha,beta", "alpha beta"),
            ("a[1-2]b[1-2]", "a1b1 a1b2 a2b1 a2b2"),
            ("n1", "n1"),
        ] {
            let expanded = expand(list).unwrap();
            assert_eq!(expanded.join(" "), hosts, "{list}");
        }
        for (hosts, list) in [
            ("n1 n2 n3 n7", "n[1-3,7]"),
            ("n08 n09 n10", "n[08-10]"),
            ("alpha beta", "alpha,beta"),
            ("n1 login n2", "n[1-2],login"),
            ("n1", "n1"),
            ("n n1 n2", "n,n[1-2]"),
            ("", ""),
        ] {
            assert_eq!(compress(hosts.split_whitespace()), list, "{hosts}");
        }
        assert_eq!(repeated([2, 2, 1, 2]), "2(x2),1,2");
        for list in ["n[1", "n1]", "n[[1]]", "n[3-1]", "n[x]", "n[1-999999999]"] {
            assert_eq!(expand(list), None, "{list}");
        }
    }
}
