//! The file of sites, and the folders of its user.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::SiteError;
use crate::journal::replace_file;
use crate::settings::SiteSettings;

/// The file of the sites.
pub const SITES_FILE: &str = "sites.toml";

/// The variable with the directory that has the file of the sites and what is known of them, in place
/// of the user's directories.
pub const SITES_VARIABLE: &str = "TOLLGATE_SITES";

/// The sites of a user, as `sites.toml` has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SitesFile {
    /// The sites, in the order of the file.
    #[serde(default, rename = "site", skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<SiteSettings>,
}

impl SitesFile {
    /// Returns the user's file: `$TOLLGATE_SITES/sites.toml`, else
    /// `$XDG_CONFIG_HOME/tollgate/sites.toml`, else `~/.config/tollgate/sites.toml`.
    ///
    /// # Errors
    /// An error if no variable names a directory.
    pub fn path() -> Result<PathBuf, SiteError> {
        match path_in(SITES_VARIABLE) {
            Some(dir) => Ok(dir.join(SITES_FILE)),
            None => Ok(user_dir("XDG_CONFIG_HOME", ".config")?
                .join("tollgate")
                .join(SITES_FILE)),
        }
    }

    /// Reads a file. Returns no sites if there is no file.
    ///
    /// # Errors
    /// An error if the file cannot be read or a setting is illegal.
    pub fn read(path: &Path) -> Result<Self, SiteError> {
        let file = Self::parse(path)?;
        file.check(path)?;
        Ok(file)
    }

    /// Reads a file, and gives each site a key that `draw` returns, in place of its own if it has one.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with_keys(
        path: &Path,
        mut draw: impl FnMut() -> String,
    ) -> Result<Self, SiteError> {
        let mut file = Self::parse(path)?;
        for site in &mut file.sites {
            site.key = draw();
        }
        file.check(path)?;
        Ok(file)
    }

    fn parse(path: &Path) -> Result<Self, SiteError> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(SiteError::File {
                    path: path.to_owned(),
                    action: "cannot be read",
                    error,
                });
            }
        };
        toml::from_str(&text).map_err(|error| settings_error(path, error.to_string()))
    }

    pub(crate) fn check(&self, path: &Path) -> Result<(), SiteError> {
        for (at, site) in self.sites.iter().enumerate() {
            let name = &site.name;
            let wrong = |error| settings_error(path, format!("site `{name}`: {error}"));
            site.check().map_err(wrong)?;
            if self.sites[..at].iter().any(|other| other.name == *name) {
                let message = format!("two sites are called `{name}`");
                return Err(settings_error(path, message));
            }
        }
        Ok(())
    }

    /// Writes the file in place of the old one.
    ///
    /// # Errors
    /// An error if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), SiteError> {
        let text = toml::to_string(self);
        let text = text.map_err(|error| settings_error(path, error.to_string()))?;
        replace_file(path, text.as_bytes())
    }

    /// Adds a site.
    ///
    /// # Errors
    /// An error if a setting is illegal or a site has the same name.
    pub fn add(&mut self, site: SiteSettings) -> Result<(), SiteError> {
        site.check()?;
        if self.sites.iter().any(|other| other.name == site.name) {
            return Err(SiteError::Exists(site.name));
        }
        self.sites.push(site);
        Ok(())
    }

    /// Returns the site with a name.
    ///
    /// # Errors
    /// An error if no site has this name.
    pub fn site(&self, name: &str) -> Result<&SiteSettings, SiteError> {
        let site = self.sites.iter().find(|site| site.name == name);
        site.ok_or_else(|| SiteError::Unknown(name.to_owned()))
    }
}

fn settings_error(path: &Path, message: String) -> SiteError {
    SiteError::Settings {
        path: path.to_owned(),
        message,
    }
}

/// Returns the directory of what tollgate knows of sites: `$TOLLGATE_SITES`, else
/// `$XDG_STATE_HOME/tollgate-sites`, else `~/.local/state/tollgate-sites`.
///
/// # Errors
/// An error if no variable names a directory.
pub fn state_dir() -> Result<PathBuf, SiteError> {
    match path_in(SITES_VARIABLE) {
        Some(dir) => Ok(dir),
        None => Ok(user_dir("XDG_STATE_HOME", ".local/state")?.join("tollgate-sites")),
    }
}

/// Returns a user's directory: that of a variable of the XDG base directories, else one below the home
/// directory.
///
/// # Errors
/// An error if no variable names a directory.
pub fn user_dir(variable: &str, below_home: &str) -> Result<PathBuf, SiteError> {
    let home = || path_in("HOME").map(|home| home.join(below_home));
    path_in(variable).or_else(home).ok_or(SiteError::NoHome)
}

fn path_in(variable: &str) -> Option<PathBuf> {
    let value = env::var_os(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_batch::EngineKind;

    fn site() -> SiteSettings {
        SiteSettings::new("slurm", EngineKind::Slurm, "7f3a", "tollgate")
    }

    #[test]
    fn file_survives_a_round_trip() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("below/sites.toml");
        assert_eq!(
            SitesFile::read(&path).expect("no file"),
            SitesFile::default()
        );
        let mut file = SitesFile::default();
        let settings = SiteSettings {
            via: Some("login1".to_owned()),
            memory_mib: Some(4096),
            args: vec!["-p".to_owned(), "it's \"main\"".to_owned()],
            ..site()
        };
        file.add(settings).expect("a legal site");
        file.write(&path).expect("a writable file");
        assert_eq!(SitesFile::read(&path).expect("a legal file"), file);
        assert!(matches!(file.add(site()), Err(SiteError::Exists(_))));
    }

    #[test]
    fn file_by_hand_needs_a_name_and_an_engine() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sites.toml");
        fs::write(&path, "[[site]]\nname = \"north\"\nengine = \"sge\"\n").expect("a file");
        let read = SitesFile::read_with_keys(&path, || "7f3a".to_owned());
        let expected = SiteSettings::new("north", EngineKind::Sge, "7f3a", "tollgate");
        assert_eq!(read.expect("a legal file").sites, [expected]);
        let error = SitesFile::read(&path).expect_err("there is no key");
        assert!(error.to_string().contains("key"), "{error}");
    }
}
