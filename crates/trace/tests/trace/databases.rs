//! Tests with round-robin databases, synthesised for every machine, and dumped as XML.

use std::fmt::Write;

use tollgate_model::{Instant, Span};
use tollgate_trace::error::RrdError;
use tollgate_trace::rrd::{RrdDatabase, parse};

/// A machine that writes databases: byte order, size of a long in bytes, alignment of a double.
#[derive(Clone, Copy)]
struct WriterMachine {
    little: bool,
    word: usize,
    align: usize,
}

const MACHINES: [WriterMachine; 6] = [
    machine(true, 4, 4),
    machine(true, 4, 8),
    machine(true, 8, 8),
    machine(false, 4, 4),
    machine(false, 4, 8),
    machine(false, 8, 8),
];

const fn machine(little: bool, word: usize, align: usize) -> WriterMachine {
    WriterMachine {
        little,
        word,
        align,
    }
}

const SOURCES: [&str; 3] = ["load", "free", "idle"];

/// Steps per row, number of rows and position of the current row, of each archive.
const ARCHIVES: [(u64, u64, u64); 2] = [(1, 4, 1), (6, 3, 2)];

const LAST_UPDATE: u64 = 920_808_123;
const STEP: u64 = 300;

/// Returns the value of a source in a row of an archive, with rows numbered as in the file.
fn value(archive: usize, row: u64, source: usize) -> f64 {
    if row == 0 && source == 1 {
        return f64::NAN;
    }
    (archive * 100) as f64 + row as f64 * 10.0 + source as f64 + 0.25
}

impl WriterMachine {
    fn long(self, value: u64, bytes: &mut Vec<u8>) {
        let wide = if self.little {
            value.to_le_bytes()
        } else {
            value.to_be_bytes()
        };
        bytes.extend(match (self.little, self.word) {
            (_, 8) => &wide[..],
            (true, _) => &wide[..4],
            (false, _) => &wide[4..],
        });
    }

    fn double(self, value: f64, bytes: &mut Vec<u8>) {
        bytes.extend(if self.little {
            value.to_le_bytes()
        } else {
            value.to_be_bytes()
        });
    }

    /// Appends a structure of these parts, each aligned as a compiler would do it.
    fn structure(self, bytes: &mut Vec<u8>, parts: &[RrdPart<'_>]) {
        let mut structure = Vec::new();
        for part in parts {
            let align = match part {
                RrdPart::Text(..) => 1,
                RrdPart::Long(_) => self.word,
                RrdPart::Double(_) | RrdPart::Parameters(_) => self.align,
            };
            structure.resize(structure.len().next_multiple_of(align), 0xaa);
            match part {
                RrdPart::Text(text, size) => {
                    structure.extend(text.as_bytes());
                    structure.resize(structure.len() + size - text.len(), 0);
                }
                RrdPart::Long(value) => self.long(*value, &mut structure),
                RrdPart::Double(value) => self.double(*value, &mut structure),
                RrdPart::Parameters(first) => {
                    let end = structure.len() + 80;
                    for (at, parameter) in first.iter().enumerate() {
                        structure.resize(end - 80 + at * 8, 0);
                        match parameter {
                            RrdParameter::Long(value) => self.long(*value, &mut structure),
                            RrdParameter::Double(value) => self.double(*value, &mut structure),
                        }
                    }
                    structure.resize(end, 0);
                }
            }
        }
        bytes.append(&mut structure);
    }

    fn write(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (sources, archives) = (SOURCES.len() as u64, ARCHIVES.len() as u64);
        self.structure(
            &mut bytes,
            &[
                RrdPart::Text("RRD\0", 4),
                RrdPart::Text("0003", 5),
                RrdPart::Double(8.642135E130),
                RrdPart::Long(sources),
                RrdPart::Long(archives),
                RrdPart::Long(STEP),
                RrdPart::Parameters(&[]),
            ],
        );
        for name in SOURCES {
            let bounds = [
                RrdParameter::Long(600),
                RrdParameter::Double(0.0),
                RrdParameter::Double(f64::NAN),
            ];
            let parts = [
                RrdPart::Text(name, 20),
                RrdPart::Text("GAUGE", 20),
                RrdPart::Parameters(&bounds),
            ];
            self.structure(&mut bytes, &parts);
        }
        for (steps, rows, _) in ARCHIVES {
            let parts = [
                RrdPart::Text("AVERAGE", 20),
                RrdPart::Long(rows),
                RrdPart::Long(steps),
                RrdPart::Parameters(&[RrdParameter::Double(0.5)]),
            ];
            self.structure(&mut bytes, &parts);
        }
        self.structure(&mut bytes, &[RrdPart::Long(LAST_UPDATE), RrdPart::Long(7)]);
        for _ in SOURCES {
            self.structure(
                &mut bytes,
                &[RrdPart::Text("12.5", 30), RrdPart::Parameters(&[])],
            );
        }
        for _ in 0..sources * archives {
            self.structure(&mut bytes, &[RrdPart::Parameters(&[])]);
        }
        for (_, _, current) in ARCHIVES {
            self.long(current, &mut bytes);
        }
        for (archive, (_, rows, _)) in ARCHIVES.into_iter().enumerate() {
            for row in 0..rows {
                for source in 0..SOURCES.len() {
                    self.double(value(archive, row, source), &mut bytes);
                }
            }
        }
        bytes
    }
}

enum RrdPart<'a> {
    Text(&'a str, usize),
    Long(u64),
    Double(f64),
    Parameters(&'a [RrdParameter]),
}

enum RrdParameter {
    Long(u64),
    Double(f64),
}

/// Returns the database as `rrdtool dump` writes it: the oldest row of an archive first.
fn dump() -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n\
         <!DOCTYPE rrd SYSTEM \"https://oss.oetiker.ch/rrdtool/rrdtool.dtd\">\n\
         <!-- Round Robin Database Dump -->\n<rrd>\n<version>0003</version>\n\
         <step>{STEP}</step> <!-- Seconds -->\n<lastupdate>{LAST_UPDATE}</lastupdate>\n"
    );
    for name in SOURCES {
        writeln!(
            text,
            "<ds><name> {name} </name><type> GAUGE </type><minimal_heartbeat>600\
             </minimal_heartbeat><min>0.0000000000e+00</min><max>NaN</max>\
             <last_ds>12.5</last_ds></ds>"
        )
        .unwrap();
    }
    for (archive, (steps, rows, current)) in ARCHIVES.into_iter().enumerate() {
        writeln!(
            text,
            "<rra><cf>AVERAGE</cf><pdp_per_row>{steps}</pdp_per_row> <!-- 300 seconds -->\n\
             <params><xff>5e-01</xff></params><database>"
        )
        .unwrap();
        for age in 1..=rows {
            let row = (current + age) % rows;
            text += "<!-- 1999-03-07 / 920808000 --> <row>";
            for source in 0..SOURCES.len() {
                write!(text, "<v>{:e}</v>", value(archive, row, source)).unwrap();
            }
            text += "</row>\n";
        }
        text += "</database></rra>\n";
    }
    text + "</rrd>\n"
}

/// Returns the database as text for comparison, since NaN is not equal to itself.
fn shown(database: &RrdDatabase) -> String {
    format!("{database:?}")
}

#[test]
fn every_machine_writes_the_same_database() {
    let dumped = parse(dump().as_bytes()).unwrap();
    for machine in MACHINES {
        let database = parse(&machine.write()).unwrap();
        assert_eq!(shown(&database), shown(&dumped), "{}", machine.word);
    }
    assert_eq!(dumped.step, Span::from_secs(300));
    assert_eq!(dumped.sources[2].name, "idle");
    assert_eq!(
        (dumped.sources[0].min, dumped.sources[0].max),
        (Some(0.0), None)
    );
    let coarse = &dumped.archives[1];
    assert_eq!(coarse.resolution, Span::from_secs(1800));
    let rows: Vec<(Instant, Vec<f64>)> = coarse
        .rows()
        .map(|(end, row)| (end, row.to_vec()))
        .collect();
    assert_eq!(rows[2].0, Instant::from_secs(920_808_000));
    assert_eq!(rows[1].0, Instant::from_secs(920_806_200));
    assert_eq!(rows[1].1, [110.25, 111.25, 112.25]);
    assert!(rows[0].1[1].is_nan());
    assert_eq!(coarse.n_known(), 8);
}

#[test]
fn truncated_database_error_has_the_position() {
    let whole = MACHINES[2].write();
    for length in [20, 100, 300, whole.len() - 1] {
        let error = parse(&whole[..length]).unwrap_err();
        let RrdError::Truncated { found, expected } = error else {
            assert!(length == 20 && matches!(error, RrdError::Layout), "{error}");
            continue;
        };
        assert_eq!(found, length as u64);
        assert!(expected > found);
    }
}

#[test]
fn invalid_databases_are_rejected_with_the_reason() {
    let message = |bytes: &[u8]| parse(bytes).unwrap_err().to_string();
    let mut other = MACHINES[0].write();
    other[4..8].copy_from_slice(b"0001");
    assert_eq!(
        message(&other),
        "expected version 0003 of a round-robin database, found `0001`"
    );
    let mut nothing = MACHINES[0].write();
    nothing[20..24].fill(0);
    assert!(message(&nothing).starts_with("the number of sources: expected 1"));
    let mut huge = MACHINES[2].write();
    huge[24..28].fill(0xff);
    assert!(message(&huge).contains("stops before its end"));
    let mut order = MACHINES[0].write();
    order[12..20].fill(1);
    assert!(matches!(parse(&order), Err(RrdError::Layout)));
    let text = dump().replace("<step>300", "<step>soon");
    assert_eq!(
        message(text.as_bytes()),
        "line 6: `step`: expected a positive whole number of seconds"
    );
    let text = dump().replacen("</v></row>", "</v><v>1</v></row>", 1);
    assert!(message(text.as_bytes()).ends_with("`row`: expected a value for each source"));
    assert!(message(&dump().as_bytes()[..300]).starts_with("not well-formed XML: "));
    assert!(matches!(parse(b"hello"), Err(RrdError::NotRrd)));
}
