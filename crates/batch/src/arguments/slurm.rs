//! The options of `sbatch`, which are those of the GNU library: abbreviated, joined and bundled.

use super::options::{
    AGAIN, ANSWER, ARRAY, CORES, DIRECTORY, ELSEWHERE, MEMORY, NAME, OUTPUT, OptionRow, OptionUse,
    OptionValue, SCRIPT, TIME, VARIABLES, WAITING, matching,
};
use super::{PassedArguments, RejectedArgument, rejected};

const fn flag(name: &'static str) -> OptionRow {
    OptionRow::flag(name)
}

const fn valued(name: &'static str) -> OptionRow {
    OptionRow::valued(name)
}

const WHOLE_NODE: &str = "use `site add --cores all`";
const ONE_NODE: &str = "a pilot has one node";

/// The options of `sbatch` 20.11 to 24.05. Those of later releases pass, as long as none of these begins with
/// what they are called.
pub(super) const OPTIONS: &[OptionRow] = &[
    valued("account").letter('A'),
    valued("acctg-freq"),
    valued("array").letter('a').rejected(ARRAY),
    valued("batch"),
    valued("bb"),
    valued("bbf"),
    valued("begin").letter('b'),
    valued("chdir").letter('D').rejected(DIRECTORY),
    valued("cluster-constraint").rejected(ELSEWHERE),
    valued("clusters").letter('M').rejected(ELSEWHERE),
    valued("comment"),
    valued("constraint").letter('C'),
    valued("container"),
    flag("contiguous"),
    valued("core-spec").letter('S'),
    valued("cores-per-socket"),
    valued("cpu-freq"),
    valued("cpus-per-gpu").rejected(CORES),
    valued("cpus-per-task").letter('c').rejected(CORES),
    valued("deadline"),
    valued("delay-boot"),
    valued("dependency").letter('d'),
    valued("distribution").letter('m'),
    valued("error").letter('e').rejected(OUTPUT),
    valued("exclude").letter('x'),
    flag("exclusive")
        .with(OptionValue::Joined)
        .rejected(WHOLE_NODE),
    valued("export").rejected(VARIABLES),
    valued("export-file").rejected(VARIABLES),
    valued("extra"),
    valued("extra-node-info").letter('B'),
    flag("get-user-env").with(OptionValue::Joined),
    valued("gid"),
    valued("gpu-bind"),
    valued("gpu-freq"),
    valued("gpus").letter('G'),
    valued("gpus-per-node"),
    valued("gpus-per-socket"),
    valued("gpus-per-task"),
    valued("gres"),
    valued("gres-flags"),
    flag("help").letter('h').rejected(ANSWER),
    valued("hint"),
    flag("hold").letter('H'),
    flag("ignore-pbs"),
    valued("input").letter('i').rejected(SCRIPT),
    valued("job-name").letter('J').rejected(NAME),
    valued("kill-on-invalid-dep"),
    valued("licenses").letter('L'),
    valued("mail-type"),
    valued("mail-user"),
    valued("mcs-label"),
    valued("mem").rejected(MEMORY),
    valued("mem-bind"),
    valued("mem-per-cpu").rejected(MEMORY),
    valued("mem-per-gpu").rejected(MEMORY),
    valued("mincpus"),
    valued("network"),
    flag("nice").with(OptionValue::Joined),
    flag("no-kill").letter('k').with(OptionValue::Joined),
    flag("no-requeue"),
    valued("nodefile").letter('F'),
    valued("nodelist").letter('w'),
    valued("nodes").letter('N').rejected(ONE_NODE),
    valued("ntasks").letter('n').rejected(CORES),
    valued("ntasks-per-core").rejected(CORES),
    valued("ntasks-per-gpu").rejected(CORES),
    valued("ntasks-per-node").rejected(CORES),
    valued("ntasks-per-socket").rejected(CORES),
    valued("open-mode"),
    valued("output").letter('o').rejected(OUTPUT),
    flag("overcommit").letter('O'),
    flag("oversubscribe").letter('s'),
    flag("parsable"),
    valued("partition").letter('p').queue(),
    valued("power"),
    valued("prefer"),
    valued("priority"),
    valued("profile"),
    flag("propagate").with(OptionValue::Joined),
    valued("qos").letter('q'),
    flag("quiet").letter('Q'),
    flag("reboot"),
    flag("requeue").rejected(AGAIN),
    valued("reservation"),
    flag("share"),
    valued("signal"),
    valued("sockets-per-node"),
    flag("spread-job"),
    valued("switches"),
    flag("test-only").rejected(ANSWER),
    valued("thread-spec"),
    valued("threads-per-core"),
    valued("time").letter('t').rejected(TIME),
    valued("time-min").rejected(TIME),
    valued("tmp"),
    valued("tres-bind"),
    valued("tres-per-task").rejected(CORES),
    valued("uid"),
    flag("usage").letter('u').rejected(ANSWER),
    flag("use-min-nodes"),
    flag("verbose").letter('v'),
    flag("version").letter('V').rejected(ANSWER),
    flag("wait").letter('W').rejected(WAITING),
    valued("wait-all-nodes"),
    valued("wckey"),
    valued("wrap").rejected(SCRIPT),
];

/// Reads arguments of `sbatch`.
pub(super) fn read(words: &[String]) -> Result<PassedArguments, RejectedArgument> {
    let mut found = PassedArguments::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let usage = match word.strip_prefix("--") {
            Some("") => return Err(rejected(word, SCRIPT)),
            Some(long) => read_long(word, long)?,
            None => match word.strip_prefix('-') {
                Some(letters) if !letters.is_empty() => read_letters(word, letters)?,
                _ => return Err(rejected(word, SCRIPT)),
            },
        };
        let value = match usage.value {
            FoundValue::Joined(value) => Some(value),
            FoundValue::None => None,
            FoundValue::Next => rest.next().map(String::as_str),
            // The value of an option that is not known, if it has one.
            FoundValue::PerhapsNext => {
                let next = rest.as_slice().first();
                if next.is_some_and(|next| !next.starts_with('-')) {
                    rest.next();
                }
                None
            }
        };
        if usage.is_queue {
            found = PassedArguments::in_queue(value.unwrap_or_default());
        }
    }
    Ok(found)
}

/// An option that is passed on, and where its value is.
struct FoundOption<'a> {
    is_queue: bool,
    value: FoundValue<'a>,
}

enum FoundValue<'a> {
    None,
    Joined(&'a str),
    Next,
    PerhapsNext,
}

fn read_long<'a>(word: &str, long: &'a str) -> Result<FoundOption<'a>, RejectedArgument> {
    let (name, joined) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let rows = matching(OPTIONS, name);
    if let Some(reason) = rows.iter().find_map(|row| row.reason()) {
        return Err(rejected(word, reason));
    }
    let value = match (joined, rows.first()) {
        (Some(value), _) => FoundValue::Joined(value),
        (None, Some(row)) => match row.value {
            OptionValue::Required(_) => FoundValue::Next,
            OptionValue::None | OptionValue::Joined => FoundValue::None,
        },
        (None, None) => FoundValue::PerhapsNext,
    };
    Ok(FoundOption {
        is_queue: rows.iter().any(|row| row.usage == OptionUse::Queue),
        value,
    })
}

/// Reads letters behind one dash: options without values, up to one with a value, whose rest of the word the
/// value is.
fn read_letters<'a>(word: &str, letters: &'a str) -> Result<FoundOption<'a>, RejectedArgument> {
    for (at, letter) in letters.char_indices() {
        let row = OPTIONS.iter().find(|row| row.letter == Some(letter));
        let Some(row) = row else {
            return Err(rejected(word, "`sbatch` has no such option"));
        };
        if let Some(reason) = row.reason() {
            return Err(rejected(word, reason));
        }
        let rest = &letters[at + letter.len_utf8()..];
        match row.value {
            OptionValue::None => {}
            OptionValue::Joined => {
                return Ok(FoundOption {
                    is_queue: false,
                    value: FoundValue::Joined(rest),
                });
            }
            OptionValue::Required(_) => {
                return Ok(FoundOption {
                    is_queue: row.usage == OptionUse::Queue,
                    value: match rest.is_empty() {
                        true => FoundValue::Next,
                        false => FoundValue::Joined(rest),
                    },
                });
            }
        }
    }
    Ok(FoundOption {
        is_queue: false,
        value: FoundValue::None,
    })
}
