//! The self-signed certificate that a service creates if its settings name none.

use std::net::IpAddr;
use std::path::Path;

use rcgen::{CertificateParams, DnType, KeyPair};
use tollgate_client::certificate::{CertificateError, CertificateFiles, TlsCertificate};
use tollgate_host::replace_private;

/// An error of the service's own certificate.
#[derive(Debug, thiserror::Error)]
pub enum OwnCertificateError {
    /// The files cannot be used.
    #[error(transparent)]
    Read(#[from] CertificateError),
    /// Creating a certificate failed.
    #[error("no certificate can be created: {0}")]
    Create(#[from] rcgen::Error),
}

/// Reads a certificate, or creates a self-signed one if the key file does not exist.
///
/// # Errors
/// If the files cannot be read or written, or other users can read the key.
pub fn read_or_create(
    files: &CertificateFiles,
    hosts: &[String],
    ip: IpAddr,
) -> Result<TlsCertificate, OwnCertificateError> {
    if !files.key.exists() {
        create(files, hosts, ip)?;
    }
    Ok(TlsCertificate::read(files)?)
}

fn create(
    files: &CertificateFiles,
    hosts: &[String],
    ip: IpAddr,
) -> Result<(), OwnCertificateError> {
    let mut names = hosts.to_vec();
    names.extend(["localhost".to_owned(), ip.to_string()]);
    let mut params = CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(DnType::CommonName, "tollgate");
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    // The key is written last, so a key file implies a certificate file.
    write(&files.certificate, &certificate.pem())?;
    write(&files.key, &key.serialize_pem())
}

fn write(path: &Path, text: &str) -> Result<(), OwnCertificateError> {
    replace_private(path, text.as_bytes()).map_err(|error| {
        OwnCertificateError::Read(CertificateError::File {
            path: path.to_owned(),
            what: format!("cannot be written: {error}"),
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn certificate_is_created_once_and_reused() {
        let dir = tempfile::tempdir().unwrap();
        let files = CertificateFiles {
            certificate: dir.path().join("server.crt"),
            key: dir.path().join("server.key"),
        };
        let ip = IpAddr::from([127, 0, 0, 1]);
        let print = || {
            let certificate = read_or_create(&files, &[], ip).unwrap();
            certificate.fingerprint().unwrap()
        };
        assert_eq!(print(), print());
        let mode = |path: &Path| {
            use std::os::unix::fs::MetadataExt;
            fs::metadata(path).unwrap().mode() & 0o777
        };
        assert_eq!(mode(&files.key), 0o600);
        fs::set_permissions(
            &files.key,
            std::os::unix::fs::PermissionsExt::from_mode(0o644),
        )
        .unwrap();
        let read = TlsCertificate::read(&files);
        assert!(matches!(read, Err(CertificateError::Open(_))), "{read:?}");
    }
}
