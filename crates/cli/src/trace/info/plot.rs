//! Pictures made of characters, the same on every terminal.

use tollgate_workload::statistics::{SpanHistogram, SubmissionCounts};

use super::format;

/// Characters of the longest bar.
const BAR_WIDTH: usize = 50;

/// An eighth of a character more each.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// More and more, from nothing at all.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// A line a bin, with its ends, a bar and the number behind it.
pub(super) fn histogram(histogram: &SpanHistogram) -> String {
    let most = histogram
        .bins
        .iter()
        .map(|bin| bin.count)
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for bin in &histogram.bins {
        let from = format::format_span(bin.from.as_secs_f64());
        let ends = match bin.to {
            Some(to) => format!("{from} to {}", format::format_span(to.as_secs_f64())),
            None => format!("from {from}"),
        };
        let bar = bar(bin.count, most);
        let gap = if bar.is_empty() { "" } else { " " };
        text += &format!("  {ends:>16}  {bar}{gap}{}\n", bin.count);
    }
    text
}

/// A row a day, a column an hour; darker is more. `named` days begin with Monday; others are
/// only counted.
pub(super) fn week(arrivals: &SubmissionCounts, named: bool) -> String {
    let cells = || arrivals.by_hour.iter().flatten();
    let most = cells().copied().max().unwrap_or(0);
    let total = arrivals.total().max(1) as f64;
    let mut text = String::from("         0     3     6     9     12    15    18    21\n");
    for (day, hours) in arrivals.by_hour.iter().enumerate() {
        let name = if named {
            DAYS[day].to_owned()
        } else {
            format!("day {}", day + 1)
        };
        let row: String = hours
            .iter()
            .flat_map(|&count| [shade(count, most); 2])
            .collect();
        let share = format::format_percent(arrivals.of_days()[day] as f64 / total);
        text += &format!("  {name:<5}  {row}  {share:>6}\n");
    }
    text
}

/// A bar of at most [`BAR`] characters; whatever is more than nothing can be seen.
fn bar(count: u64, most: u64) -> String {
    if count == 0 {
        return String::new();
    }
    let eighths = (count as f64 / most as f64 * (BAR_WIDTH * 8) as f64)
        .round()
        .max(1.0) as usize;
    let (whole, part) = (eighths / 8, eighths % 8);
    let mut bar = "█".repeat(whole);
    bar.extend(part.checked_sub(1).map(|part| EIGHTHS[part]));
    bar
}

fn shade(count: u64, most: u64) -> char {
    if count == 0 {
        return SHADES[0];
    }
    let steps = SHADES.len() - 1;
    let step = (count as f64 / most as f64 * steps as f64).ceil() as usize;
    SHADES[step.clamp(1, steps)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_the_longest_and_little_is_not_nothing() {
        assert_eq!(bar(7, 7).chars().count(), BAR_WIDTH);
        assert_eq!(bar(1, 1_000_000), "▏");
        assert_eq!(bar(0, 7), "");
        assert_eq!(
            (shade(0, 9), shade(1, 1_000_000), shade(9, 9)),
            ('·', '░', '█')
        );
    }
}
