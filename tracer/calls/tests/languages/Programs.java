import static java.nio.file.StandardOpenOption.APPEND;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.CREATE_NEW;
import static java.nio.file.StandardOpenOption.DSYNC;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.File;
import java.io.FileOutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Small programs of Java's standard library, whose calls the tracer must record exactly (cases.toml). The first argument
 * names the program; each works in the folder of the process and writes sectors of one letter.
 */
public class Programs {
  static final int SECTOR = 512;
  static final Path A = Path.of("a"), B = Path.of("b");

  static byte[] sectors(String letters) {
    byte[] out = new byte[letters.length() * SECTOR];
    for (int i = 0; i < out.length; ++i) out[i] = (byte) letters.charAt(i / SECTOR);
    return out;
  }

  static ByteBuffer buffer(String letters) {
    return ByteBuffer.wrap(sectors(letters));
  }

  static void save() throws Exception {
    try (FileOutputStream out = new FileOutputStream("t")) {
      out.write(sectors("X"));
      out.getFD().sync();
    }
    Files.move(Path.of("t"), A, StandardCopyOption.ATOMIC_MOVE);
    try (FileChannel folder = FileChannel.open(Path.of("."), READ)) {
      folder.force(true);
    }
  }

  static void whole() throws Exception {
    Files.write(A, sectors("X"));
    Files.write(A, sectors("YZ"));
    Files.write(A, sectors("A"), APPEND);
  }

  static void channels() throws Exception {
    FileChannel file = FileChannel.open(A, CREATE_NEW, READ, WRITE);
    file.write(buffer("B"), SECTOR);
    file.write(new ByteBuffer[] {buffer("A"), buffer("C")});
    file.force(false);
    file.truncate(SECTOR);
    file.force(true);
    FileChannel log = FileChannel.open(A, APPEND, DSYNC);
    log.write(buffer("D"));
    log.write(buffer("E"));
  }

  static void through() throws Exception {
    RandomAccessFile data = new RandomAccessFile("a", "rwd");
    data.write(sectors("X"));
    data.setLength(2 * SECTOR);
    RandomAccessFile all = new RandomAccessFile("a", "rws");
    all.seek(SECTOR);
    all.write(sectors("Y"));
    all.getChannel().force(false);
  }

  static void mapping() throws Exception {
    FileChannel file = FileChannel.open(A, CREATE_NEW, READ, WRITE);
    MappedByteBuffer at = file.map(FileChannel.MapMode.READ_WRITE, 0, 2 * SECTOR);
    at.put(0, sectors("X"));
    at.force();
    at.put(SECTOR, sectors("Y"));
    at.force(SECTOR, SECTOR);
  }

  static void copies() throws Exception {
    Files.write(A, sectors("XYZ"));
    Files.copy(A, B);
    try (FileChannel from = FileChannel.open(A, READ);
        FileChannel to = FileChannel.open(Path.of("c"), CREATE, WRITE)) {
      from.transferTo(SECTOR, 2 * SECTOR, to);
      to.transferFrom(from, 2 * SECTOR, SECTOR);
    }
  }

  /** Threads write in turn, under a lock of the file. */
  static void threads() throws Exception {
    FileChannel file = FileChannel.open(A, CREATE, WRITE);
    for (String letter : new String[] {"A", "B", "C"}) {
      Thread thread =
          new Thread(
              () -> {
                try (var lock = file.lock()) {
                  file.write(buffer(letter));
                } catch (Exception error) {
                  System.exit(1);
                }
              });
      thread.start();
      thread.join();
    }
    var pool = Executors.newFixedThreadPool(2);
    AsynchronousFileChannel later = AsynchronousFileChannel.open(A, java.util.Set.of(WRITE), pool);
    later.write(buffer("D"), 3 * SECTOR).get();
    later.force(false);
    pool.shutdown();
  }

  static void child() throws Exception {
    new ProcessBuilder("sh", "-c", "printf X").redirectOutput(new File("a")).start().waitFor();
    Process other = new ProcessBuilder("sh", "-c", "printf YZ; : > b").start();
    byte[] output = other.getInputStream().readAllBytes();
    other.waitFor();
    Files.write(A, output, APPEND);
  }

  /** Threads save files of their own at the same time. */
  static void crowd() throws Exception {
    var pool = Executors.newFixedThreadPool(4);
    for (String letter : "ABCDEFGH".split("")) {
      pool.submit(
          () -> {
            Path temporary = Path.of("t" + letter);
            try (FileChannel file = FileChannel.open(temporary, CREATE_NEW, WRITE)) {
              file.write(buffer(letter));
              file.force(true);
            }
            return Files.move(temporary, Path.of(letter), StandardCopyOption.ATOMIC_MOVE);
          });
    }
    pool.shutdown();
    pool.awaitTermination(1, TimeUnit.MINUTES);
  }

  public static void main(String[] words) throws Exception {
    Programs.class.getDeclaredMethod(words[0]).invoke(null);
  }
}
