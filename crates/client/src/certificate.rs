//! TLS certificates and their private keys.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ParsedCertificate;

use crate::Fingerprint;
use crate::private_file::{self, FilePermissions, PrivateFileError};

/// A certificate chain with its private key.
#[derive(Debug)]
pub struct TlsCertificate {
    /// The chain, starting with the certificate itself.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key.
    pub key: PrivateKeyDer<'static>,
}

/// The files of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// PEM file with the certificate chain.
    pub certificate: PathBuf,
    /// PEM file with the private key.
    pub key: PathBuf,
}

/// An error of a certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be used.
    #[error("{}: {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        what: String,
    },
    /// A file can be read or changed by other users.
    #[error(transparent)]
    Open(#[from] PrivateFileError),
}

impl TlsCertificate {
    /// Reads a certificate. Only this user and root may have write access to the files, or read
    /// access to the key.
    pub fn read(files: &CertificateFiles) -> Result<Self, CertificateError> {
        let chain = pem(&files.certificate, FilePermissions::Public)?;
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&chain)
            .collect::<Result<_, _>>()
            .map_err(|error| no_pem(&files.certificate, error))?;
        if chain.is_empty() {
            let path = files.certificate.clone();
            let what = "expected a certificate in PEM".to_owned();
            return Err(CertificateError::File { path, what });
        }
        let key = pem(&files.key, FilePermissions::Private)?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| no_pem(&files.key, error))?;
        Ok(Self { chain, key })
    }

    /// Returns the fingerprint of the certificate's public key, by which clients can identify the
    /// service.
    ///
    /// # Errors
    /// If the certificate is invalid.
    pub fn fingerprint(&self) -> Result<Fingerprint, rustls::Error> {
        fingerprint(&self.chain[0])
    }
}

/// Returns the fingerprint of a certificate's public key.
///
/// # Errors
/// If the certificate is invalid.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> Result<Fingerprint, rustls::Error> {
    let parsed = ParsedCertificate::try_from(certificate)?;
    Ok(Fingerprint::of(&parsed.subject_public_key_info()))
}

fn pem(path: &Path, secrecy: FilePermissions) -> Result<Vec<u8>, CertificateError> {
    let failed = |error: io::Error| CertificateError::File {
        path: path.to_owned(),
        what: format!("cannot be read: {error}"),
    };
    let mut file = File::open(path).map_err(failed)?;
    private_file::check_file(&file, path, secrecy)?;
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(failed)?;
    Ok(text)
}

fn no_pem(path: &Path, error: rustls::pki_types::pem::Error) -> CertificateError {
    CertificateError::File {
        path: path.to_owned(),
        what: format!("expected PEM: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn invalid_certificate_file_is_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("server.crt");
        let files = CertificateFiles {
            certificate: file.clone(),
            key: file.clone(),
        };
        for text in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nxx\n"] {
            fs::write(&file, text).unwrap();
            let read = TlsCertificate::read(&files);
            assert!(
                matches!(read, Err(CertificateError::File { .. })),
                "{read:?}"
            );
        }
    }
}
