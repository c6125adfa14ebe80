//! Tests of job tables as Parquet, read back by an independent reader.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use tollgate_trace::{ColumnSelection, ReadOptions, Trace, job_table, read};

const TABLE: &str = "job_id,submit_s,runtime_s,procs,estimate_s,user,budget,status,\
                     peak_memory_bytes,site\n\
                     7,0.5,10,2,20,ann,2.25,completed,4096,north\n\
                     8,1,-1,1,,,,,,\n";

fn parsed(text: &str) -> Trace {
    let columns = ColumnSelection::All;
    read("jobs", text.as_bytes(), ReadOptions { columns }).unwrap()
}

fn rows(batches: &[Trace]) -> Vec<Row> {
    let mut writer = job_table::ParquetWriter::new(Vec::new());
    for batch in batches {
        writer.write(batch).unwrap();
    }
    let bytes = bytes::Bytes::from(writer.finish().unwrap());
    let reader = SerializedFileReader::new(bytes).unwrap();
    assert_eq!(reader.num_row_groups(), batches.len());
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(Result::unwrap).collect()
}

fn cell(row: &Row, name: &str) -> Field {
    let mut columns = row.get_column_iter();
    let found = columns.find(|(column, _)| *column == name);
    found.unwrap_or_else(|| panic!("{name}")).1.clone()
}

#[test]
fn values_are_complete_and_unknown_values_are_null() {
    let trace = parsed(TABLE);
    let rows = rows(&[trace.clone(), trace]);
    assert_eq!(rows.len(), 4);
    for (name, value) in [
        ("job_id", Field::Long(7)),
        ("submit_s", Field::Double(0.5)),
        ("runtime_s", Field::Double(10.0)),
        ("procs", Field::Long(2)),
        ("estimate_s", Field::Double(20.0)),
        ("user", Field::Str("ann".to_owned())),
        ("budget", Field::Double(2.25)),
        ("status", Field::Str("completed".to_owned())),
        ("peak_memory_bytes", Field::Long(4096)),
        ("site", Field::Str("north".to_owned())),
    ] {
        assert_eq!(cell(&rows[0], name), value, "{name}");
        assert_eq!(cell(&rows[2], name), value, "{name}");
    }
    assert_eq!(cell(&rows[1], "runtime_s"), Field::Double(-1.0));
    for name in ["estimate_s", "user", "budget", "status", "site", "wait_s"] {
        assert_eq!(cell(&rows[1], name), Field::Null, "{name}");
    }
}

#[test]
fn rows_of_text_become_typed_columns() {
    use tollgate_trace::job_table::{ParquetColumnType, ParquetRowWriter};
    let columns = [
        ("job", ParquetColumnType::Whole),
        ("amount", ParquetColumnType::Real),
        ("user", ParquetColumnType::Text),
    ];
    let mut writer = ParquetRowWriter::new(Vec::new(), &columns).unwrap();
    let row = |cells: [&str; 3]| cells.map(str::to_owned);
    writer.write(&[row(["7", "-0.5", "ann"])]).unwrap();
    writer.write(&[row(["8", "", ""])]).unwrap();
    let bytes = bytes::Bytes::from(writer.finish().unwrap());
    let reader = SerializedFileReader::new(bytes).unwrap();
    let rows = reader.get_row_iter(None).unwrap();
    let rows: Vec<Row> = rows.map(Result::unwrap).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(cell(&rows[0], "job"), Field::Long(7));
    assert_eq!(cell(&rows[0], "amount"), Field::Double(-0.5));
    assert_eq!(cell(&rows[0], "user"), Field::Str("ann".to_owned()));
    assert_eq!(cell(&rows[1], "amount"), Field::Null);
    assert_eq!(cell(&rows[1], "user"), Field::Null);
}
