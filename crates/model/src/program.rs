//! The program that a command line runs.

/// Programs that run another one, without the digits of a version: interpreters of scripts, launchers of parallel programs,
/// and programs that change what surrounds another.
const RUNNERS: [&str; 27] = [
    "ash", "bash", "csh", "dash", "env", "fish", "java", "julia", "ksh", "lua", "mpiexec",
    "mpirun", "nice", "node", "nohup", "octave", "orterun", "perl", "php", "pypy", "python",
    "rscript", "ruby", "sh", "srun", "tcsh", "zsh",
];

/// Returns the word of a command line that names the program of the job: the first one, or the script of an interpreter and
/// the like. Two scripts of one interpreter have no more in common than two programs. The word is the first argument that is
/// neither an option, a number nor an assignment. Code in an argument has no name, and then the word is the interpreter.
/// None for an empty command line.
pub fn program_word<'a>(command: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut words = command.into_iter();
    let mut program = words.next()?;
    while is_runner(program)
        && let Some(script) = next_program(&mut words)
    {
        program = script;
    }
    Some(program)
}

fn is_runner(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    let version = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-';
    let name = name.trim_end_matches(version).to_ascii_lowercase();
    RUNNERS.contains(&name.as_str())
}

/// Returns the word that names the program which the one before runs; None if that is code or nothing.
fn next_program<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let is_code = |word: &&str| matches!(*word, "-c" | "-e" | "-lc" | "-ic" | "--eval");
    let mut before_code = words.take_while(|word| !is_code(word));
    before_code.find(|word| {
        let is_number = word.parse::<f64>().is_ok();
        !word.starts_with('-') && !is_number && !word.contains('=')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_the_script_of_an_interpreter() {
        let program = |line: &str| program_word(line.split_ascii_whitespace()).map(str::to_owned);
        for (line, expected) in [
            ("./simulate in.dat 7", "./simulate"),
            ("python3.11 -u train.py --seed 7", "train.py"),
            ("/usr/bin/python3 /home/ada/test.py", "/home/ada/test.py"),
            ("python -m jobs.train", "jobs.train"),
            ("env OMP_NUM_THREADS=4 nice -n 5 Rscript fit.R", "fit.R"),
            ("mpirun -np 16 ./solve mesh.h5", "./solve"),
            ("java -Xmx4g -jar align.jar", "align.jar"),
            ("sh -c make", "sh"),
            ("python3", "python3"),
            ("pythonic x", "pythonic"),
        ] {
            assert_eq!(program(line).as_deref(), Some(expected), "{line}");
        }
        assert_eq!(program(""), None);
    }
}
