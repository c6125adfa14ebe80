//! The options of `qsub` of Grid Engine: whole words behind one dash, with their values in words of their own.

use super::options::{
    AGAIN, ANSWER, ARRAY, DIRECTORY, NAME, OUTPUT, OptionRow, OptionUse, OptionValue, SCRIPT, TIME,
    WAITING,
};
use super::{PassedArguments, RejectedArgument, rejected};

const fn flag(name: &'static str) -> OptionRow {
    OptionRow::flag(name)
}

const fn valued(name: &'static str) -> OptionRow {
    OptionRow::valued(name)
}

const FILE: &str = "arguments in a file are not looked at: give them here";

/// The options of `qsub`. Others pass, with the words behind them that begin with no dash.
pub(super) const OPTIONS: &[OptionRow] = &[
    valued("@").rejected(FILE),
    valued("a"),
    valued("ac"),
    valued("A"),
    valued("ar"),
    valued("b").rejected(SCRIPT),
    valued("binding").with(OptionValue::Required(1)),
    valued("C").rejected(SCRIPT),
    valued("c"),
    valued("ckpt"),
    flag("clear").rejected(NAME),
    flag("cwd").rejected(DIRECTORY),
    valued("dc"),
    valued("dl"),
    valued("e").rejected(OUTPUT),
    flag("h"),
    flag("hard"),
    flag("help").rejected(ANSWER),
    valued("hold_jid"),
    valued("hold_jid_ad"),
    valued("i").rejected(SCRIPT),
    valued("j"),
    valued("js"),
    valued("jsv"),
    valued("l"),
    valued("M"),
    valued("m"),
    valued("masterq"),
    valued("N").rejected(NAME),
    flag("notify"),
    valued("now"),
    valued("o").rejected(OUTPUT),
    valued("ot"),
    valued("P"),
    valued("p"),
    valued("pe").with(OptionValue::Required(2)),
    valued("q").queue(),
    valued("R"),
    valued("r").rejected(AGAIN),
    valued("S").rejected(SCRIPT),
    valued("sc"),
    valued("shell").rejected(SCRIPT),
    flag("soft"),
    valued("sync").rejected(WAITING),
    valued("t").rejected(ARRAY),
    valued("tc"),
    flag("terse"),
    flag("V"),
    valued("v"),
    flag("verify").rejected(ANSWER),
    valued("w"),
    valued("wd").rejected(DIRECTORY),
];

/// The resources that other settings of a site stand for.
const RESOURCES: [&str; 1] = ["h_rt"];

/// Reads arguments of `qsub`.
pub(super) fn read(words: &[String]) -> Result<PassedArguments, RejectedArgument> {
    let mut found = PassedArguments::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let is_name = |name: &&str| !name.is_empty() && !name.starts_with('-');
        let Some(name) = word.strip_prefix('-').filter(is_name) else {
            return Err(rejected(word, SCRIPT));
        };
        let Some(row) = OPTIONS.iter().find(|row| row.name == name) else {
            let values = rest.as_slice().iter();
            let n_values = values.take_while(|next| !next.starts_with('-')).count();
            rest = rest.as_slice()[n_values..].iter();
            continue;
        };
        if let Some(reason) = row.reason() {
            return Err(rejected(word, reason));
        }
        let n_values = match row.value {
            OptionValue::Required(number) => number,
            OptionValue::None | OptionValue::Joined => 0,
        };
        let values = &rest.as_slice()[..n_values.min(rest.len())];
        rest = rest.as_slice()[values.len()..].iter();
        let Some(value) = values.first() else {
            continue;
        };
        if name == "l" {
            check_resources(value)?;
        }
        if row.usage == OptionUse::Queue {
            found = PassedArguments::in_queue(value);
        }
    }
    Ok(found)
}

fn check_resources(list: &str) -> Result<(), RejectedArgument> {
    let names = list.split(',').map(|part| part.split('=').next());
    let mut names = names.flatten();
    match names.any(|name| RESOURCES.contains(&name.trim())) {
        true => Err(rejected(&format!("-l {list}"), TIME)),
        false => Ok(()),
    }
}
