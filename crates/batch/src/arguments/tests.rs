use super::options::{OptionRow, OptionUse, OptionValue};
use super::*;

/// A value that the value of no option is: an option that would be rejected.
const VALUES: [&str; 3] = ["x", "7", "a=b"];

fn read(engine: EngineKind, words: &[&str]) -> Result<PassedArguments, RejectedArgument> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    PassedArguments::read(engine, &words)
}

/// Returns every spelling of an option of Slurm with a value.
fn slurm_spellings(row: &OptionRow, value: &str) -> Vec<Vec<String>> {
    let mut spellings = Vec::new();
    let unique = |length: &usize| {
        let rows = options::matching(slurm::OPTIONS, &row.name[..*length]);
        rows.len() == 1 && rows[0].name == row.name
    };
    for length in (1..=row.name.len()).filter(unique) {
        let name = format!("--{}", &row.name[..length]);
        match row.value {
            OptionValue::None => spellings.push(vec![name]),
            OptionValue::Joined => {
                spellings.push(vec![name.clone()]);
                spellings.push(vec![format!("{name}={value}")]);
            }
            OptionValue::Required(_) => {
                spellings.push(vec![format!("{name}={value}")]);
                spellings.push(vec![name, value.to_owned()]);
            }
        }
    }
    if let Some(letter) = row.letter {
        // `-H` has no value, so that other letters may follow.
        for dash in ["-", "-H", "-HO"] {
            let word = format!("{dash}{letter}");
            match row.value {
                OptionValue::None | OptionValue::Joined => spellings.push(vec![word]),
                OptionValue::Required(_) => {
                    spellings.push(vec![format!("{word}{value}")]);
                    spellings.push(vec![word, value.to_owned()]);
                }
            }
        }
    }
    spellings
}

#[test]
fn every_spelling_of_a_rejected_slurm_option_is_rejected() {
    let mut tried = 0;
    for row in slurm::OPTIONS {
        for spelling in VALUES.map(|value| slurm_spellings(row, value)).concat() {
            let words: Vec<&str> = spelling.iter().map(String::as_str).collect();
            // Before and behind other arguments, of which one has a value in a word of its own.
            for (before, behind) in [(&[][..], &[][..]), (&["-A", "ann"], &["--qos", "-M"])] {
                let all = [before, &words, behind].concat();
                let found = read(EngineKind::Slurm, &all);
                assert_eq!(
                    found.err().map(|error| error.reason),
                    row.reason(),
                    "{all:?}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 1000, "{tried} spellings");
}

#[test]
fn ambiguous_abbreviation_of_a_rejected_slurm_option_is_rejected() {
    for word in ["--clus", "--c=x", "--wai", "--out=f", "--arr=1-9", "--jo=x"] {
        assert!(read(EngineKind::Slurm, &[word]).is_err(), "{word}");
    }
}

#[test]
fn value_of_an_option_is_no_option() {
    for words in [
        &["--comment", "-J"][..],
        &["-p", "-M"],
        &["--partition=-Msouth"],
        &["-Hp", "--wait"],
    ] {
        assert!(read(EngineKind::Slurm, words).is_ok(), "{words:?}");
    }
    assert!(read(EngineKind::Sge, &["-P", "-N"]).is_ok());
    assert!(read(EngineKind::Htcondor, &["-append", "-name"]).is_ok());
}

#[test]
fn word_that_is_no_option_is_a_script_and_rejected() {
    for engine in EngineKind::ALL {
        for words in [&["job.sh"][..], &["-"], &["--", "x"]] {
            assert!(read(engine, words).is_err(), "{engine} {words:?}");
        }
    }
    assert!(read(EngineKind::Slurm, &["--hold", "job.sh"]).is_err());
    assert!(read(EngineKind::Sge, &["-notify", "job.sh"]).is_err());
    // An option of a later release may have a value.
    assert!(read(EngineKind::Slurm, &["--zz-new", "value", "--hold"]).is_ok());
    assert!(read(EngineKind::Slurm, &["--zz-new", "value", "job.sh"]).is_err());
}

#[test]
fn every_rejected_option_of_grid_engine_is_rejected() {
    for row in sge::OPTIONS {
        let word = format!("-{}", row.name);
        let values = match row.value {
            OptionValue::Required(number) => number,
            OptionValue::None | OptionValue::Joined => 0,
        };
        let mut words = vec![word.as_str()];
        words.extend(["x", "2"].into_iter().take(values));
        let found = read(EngineKind::Sge, &[&words[..], &["-notify"]].concat());
        assert_eq!(
            found.err().map(|error| error.reason),
            row.reason(),
            "{word}"
        );
    }
    assert!(read(EngineKind::Sge, &["-l", "gpu=1, h_rt=60"]).is_err());
    assert!(read(EngineKind::Sge, &["-l", "gpu=1,h_vmem=2G"]).is_ok());
}

#[test]
fn every_spelling_of_a_rejected_htcondor_option_is_rejected() {
    for row in htcondor::OPTIONS {
        let unique = |length: &usize| {
            let rows = options::matching(htcondor::OPTIONS, &row.name[..*length]);
            rows.len() == 1 && rows[0].name == row.name
        };
        let names = (2..=row.name.len()).filter(unique);
        let names = names.map(|length| row.name[..length].to_owned());
        let letter = row.letter.map(|letter| letter.to_string());
        for name in names.chain(letter) {
            for dash in ["-", "--"] {
                let word = format!("{dash}{name}");
                let words = match row.value {
                    OptionValue::Required(_) => vec![word.as_str(), "rank = 1"],
                    OptionValue::None | OptionValue::Joined => vec![word.as_str()],
                };
                let found = read(EngineKind::Htcondor, &words);
                assert_eq!(
                    found.err().map(|error| error.reason),
                    row.reason(),
                    "{word}"
                );
            }
        }
    }
}

#[test]
fn statement_that_a_setting_stands_for_is_rejected() {
    for (name, reason) in htcondor::STATEMENTS {
        for statement in [
            format!("{name} = 1"),
            format!("{}=1", name.to_uppercase()),
            format!("  {name}\t= 1"),
        ] {
            let found = read(EngineKind::Htcondor, &["-a", &statement]);
            assert_eq!(
                found.err().map(|error| error.reason),
                Some(*reason),
                "{statement}"
            );
        }
    }
    assert!(read(EngineKind::Htcondor, &["-append", "accounting_group = x"]).is_ok());
    assert!(read(EngineKind::Htcondor, &["-append", "queue 7"]).is_err());
}

#[test]
fn queue_of_the_arguments_is_known() {
    let queue = |engine, words: &[&str]| read(engine, words).unwrap().queue;
    let main = Some("main".to_owned());
    for words in [
        &["--partition", "main"][..],
        &["--partition=main"],
        &["--part=main"],
        &["-p", "main"],
        &["-pmain"],
        &["-Hpmain"],
    ] {
        assert_eq!(queue(EngineKind::Slurm, words), main, "{words:?}");
    }
    assert_eq!(queue(EngineKind::Slurm, &["-p", "main,short"]), None);
    assert_eq!(queue(EngineKind::Sge, &["-q", "main"]), main);
    assert_eq!(queue(EngineKind::Sge, &["-q", "main@node1"]), None);
    let is_queue = |row: &&OptionRow| row.usage == OptionUse::Queue;
    assert_eq!(slurm::OPTIONS.iter().filter(is_queue).count(), 1);
}
