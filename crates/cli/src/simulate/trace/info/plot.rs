//! Plots made of characters, the same on every terminal.

use tollgate_trace::statistics::{SpanHistogram, SubmissionCounts};

use super::format;

/// The width of the longest bar in characters.
const BAR_WIDTH: usize = 50;

/// Bar ends, each an eighth of a character longer than the one before.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Shades from empty to full.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Renders one line per bin, with its ends, a bar and its number.
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

/// Renders one row per day and one column per hour, where darker means more. `named` days begin
/// with Monday, and other days are numbered.
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

/// Renders a bar of at most [`BAR_WIDTH`] characters. Every count above 0 is visible.
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
    fn largest_count_has_the_longest_bar_and_small_counts_show() {
        assert_eq!(bar(7, 7).chars().count(), BAR_WIDTH);
        assert_eq!(bar(1, 1_000_000), "▏");
        assert_eq!(bar(0, 7), "");
        assert_eq!(
            (shade(0, 9), shade(1, 1_000_000), shade(9, 9)),
            ('·', '░', '█')
        );
    }
}
