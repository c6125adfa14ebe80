//! The settings as they are documented: their catalogue, their ranges and the sample of their file.

use tollgate_server::config::{SectionForm, Setting, SettingSection};
use tollgate_server::{ServiceConfig, UserScope};

fn settings_by_name() -> Vec<(String, Setting)> {
    let sections = ServiceConfig::catalogue().into_iter();
    let named = sections.flat_map(|section| {
        let name = section.name;
        let settings = section.settings.into_iter();
        settings.map(move |setting| match name.as_str() {
            "" => (setting.key.clone(), setting),
            name => (format!("{name}.{}", setting.key), setting),
        })
    });
    named.collect()
}

#[test]
fn every_setting_is_described_and_has_a_value_to_show() {
    for (name, setting) in settings_by_name() {
        assert!(setting.text.ends_with('.'), "{name}: {}", setting.text);
        assert!(!setting.kind.is_empty(), "{name}");
        if setting.is_deprecated {
            continue;
        }
        match setting.default {
            Some(_) => assert_eq!(setting.example, None, "{name}"),
            None => {
                assert!(setting.example.is_some(), "{name}: no example");
                let names_default = setting.text.to_lowercase().contains("default: ");
                assert_eq!(
                    names_default, !setting.is_required,
                    "{name}: {}",
                    setting.text
                );
            }
        }
    }
}

#[test]
fn sentences_about_settings_are_short() {
    for (name, setting) in settings_by_name() {
        for sentence in setting.text.split(". ") {
            let words = sentence.split(' ').count();
            assert!(words <= 30, "{name}: {words} words: {sentence}");
        }
    }
}

/// A bound of a range: the number, and whether the range has it.
type Bound = (f64, bool);

/// Returns the range in a text: `At least 1, at most 9.`, `Above 0 and below 1.` or `Between 0 and 1.`
fn range(text: &str) -> Option<(Bound, Option<Bound>)> {
    let sentences = text.trim_end_matches('.').split(". ");
    sentences.map(str::to_lowercase).find_map(|sentence| {
        let words: Vec<&str> = sentence.split(", ").collect();
        let number = |text: &str| text.parse::<f64>().ok();
        match words.as_slice() {
            [lower] if lower.starts_with("between ") => {
                let (lower, upper) = lower["between ".len()..].split_once(" and ")?;
                Some(((number(lower)?, true), Some((number(upper)?, true))))
            }
            [lower] if lower.starts_with("above ") => {
                let lower = &lower["above ".len()..];
                let (lower, upper) = lower
                    .split_once(" and below ")
                    .map_or((lower, None), |(lower, upper)| (lower, Some(upper)));
                let upper = upper.and_then(number).map(|upper| (upper, false));
                Some(((number(lower)?, false), upper))
            }
            [lower, upper @ ..] => {
                let lower = number(lower.strip_prefix("at least ")?)?;
                let upper = upper
                    .first()
                    .and_then(|upper| upper.strip_prefix("at most "));
                let upper = upper.and_then(number).map(|upper| (upper, true));
                Some(((lower, true), upper))
            }
            [] => None,
        }
    })
}

/// Returns whether a service would start with a value of a setting.
fn is_accepted(section: &SettingSection, key: &str, value: &str) -> bool {
    // What is needed, or one of several that are.
    let required = section
        .settings
        .iter()
        .filter(|other| other.key != key && (other.is_required || other.example.is_some()));
    let required = required.map(|other| {
        let example = other.example.as_deref().unwrap_or_default();
        format!("{} = {example}\n", other.key)
    });
    let header = match section.name.as_str() {
        "" => String::new(),
        name => format!("[{name}]\n"),
    };
    let text = format!("{header}{}{key} = {value}\n", required.collect::<String>());
    let Ok(config) = toml::from_str::<ServiceConfig>(&text) else {
        return false;
    };
    let registry = tollgate_policies::builtin_registry();
    config.rules(&registry).is_ok() && config.serve_options().is_ok()
}

#[test]
fn ranges_of_numbers_are_those_that_are_checked() {
    let mut n_ranges = 0;
    for section in ServiceConfig::catalogue() {
        for setting in &section.settings {
            let is_whole = setting.kind.starts_with("whole number");
            let is_number = is_whole || setting.kind.starts_with("number");
            if !is_number
                || setting.kind.ends_with(" or text")
                || setting.kind.ends_with("by name")
                || setting.is_deprecated
            {
                continue;
            }
            let name = format!("{}.{}", section.name, setting.key);
            let range = range(&setting.text);
            let (lower, upper) =
                range.unwrap_or_else(|| panic!("{name}: no range: {}", setting.text));
            let step = if is_whole { 1.0 } else { 1e-4 };
            let shown = |number: f64| match is_whole {
                true => format!("{number:.0}"),
                false => format!("{number:.6}"),
            };
            let bounds = [(Some(lower), -step), (upper, step)];
            for ((bound, is_inside), outward) in bounds
                .into_iter()
                .filter_map(|(bound, step)| Some((bound?, step)))
            {
                let beyond = shown(bound + outward);
                assert!(
                    !is_accepted(&section, &setting.key, &beyond),
                    "{name} = {beyond}"
                );
                let within = shown(if is_inside { bound } else { bound - outward });
                assert!(
                    is_accepted(&section, &setting.key, &within),
                    "{name} = {within}"
                );
                if !is_inside {
                    assert!(
                        !is_accepted(&section, &setting.key, &shown(bound)),
                        "{name}"
                    );
                }
                n_ranges += 1;
            }
        }
    }
    assert!(n_ranges > 20, "{n_ranges} bounds");
}

/// A setting of the sample, as it is commented out.
struct SampleLine {
    /// The header of its section, with a line break; empty outside any section.
    header: String,
    key: String,
    /// `key = value`.
    text: String,
}

fn sample_lines() -> Vec<SampleLine> {
    let mut header = String::new();
    let mut lines = Vec::new();
    for line in ServiceConfig::sample().lines() {
        let text = line.trim_start_matches('#');
        if text.starts_with('[') {
            header = format!("{text}\n");
        } else if line.starts_with('#') && !text.starts_with(' ') && !text.is_empty() {
            let (key, _) = text.split_once(" = ").unwrap();
            lines.push(SampleLine {
                header: header.clone(),
                key: key.to_owned(),
                text: text.to_owned(),
            });
        }
    }
    lines
}

#[test]
fn sample_means_the_defaults() {
    let read: ServiceConfig = toml::from_str(&ServiceConfig::sample()).unwrap();
    assert_eq!(read, ServiceConfig::default());
}

#[test]
fn each_setting_of_the_sample_can_be_set_alone() {
    let lines = sample_lines();
    let settings = settings_by_name();
    let documented = settings
        .iter()
        .filter(|(_, setting)| !setting.is_deprecated);
    assert_eq!(lines.len(), documented.count());
    for line in &lines {
        let is_required = |other: &&SampleLine| {
            let section = other.header.trim_matches(['[', ']', '\n']);
            let name = format!("{section}.{}", other.key);
            let found = settings.iter().find(|(found, _)| *found == name);
            found.is_some_and(|(_, setting)| setting.is_required)
        };
        let others = lines.iter().filter(|other| other.header == line.header);
        let others = others.filter(|other| other.key != line.key);
        let required: Vec<&str> = others
            .filter(is_required)
            .map(|other| other.text.as_str())
            .collect();
        let text = format!("{}{}\n{}\n", line.header, required.join("\n"), line.text);
        let read: Result<ServiceConfig, _> = toml::from_str(&text);
        read.unwrap_or_else(|error| panic!("{text}{error}"));
    }
}

#[test]
fn defaults_of_the_sample_are_the_defaults() {
    for section in ServiceConfig::catalogue() {
        if section.form != SectionForm::Table {
            continue;
        }
        let header = match section.name.as_str() {
            "" => String::new(),
            name => format!("[{name}]\n"),
        };
        for setting in &section.settings {
            let value = setting.default.as_ref().or(setting.example.as_ref());
            let Some(value) = value else { continue };
            let text = format!("{header}{} = {value}\n", setting.key);
            let read: ServiceConfig = toml::from_str(&text).unwrap();
            let is_default = read == ServiceConfig::default();
            assert_eq!(is_default, setting.default.is_some(), "{text}");
        }
    }
}

#[test]
fn sample_with_every_setting_set_is_a_configuration() {
    let sample = ServiceConfig::sample();
    let lines = sample.lines().map(|line| match line.strip_prefix('#') {
        Some(text) if !text.starts_with(' ') => text,
        Some(_) | None => line,
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let config: ServiceConfig = toml::from_str(&text).unwrap();
    config
        .rules(&tollgate_policies::builtin_registry())
        .unwrap();
    config.log().unwrap();
    // The sample names other users than this one.
    let config = ServiceConfig {
        users: UserScope::All,
        ..config
    };
    config.serve_options().unwrap();
}
