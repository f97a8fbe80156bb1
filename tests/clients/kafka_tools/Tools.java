import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import org.apache.kafka.common.utils.Exit;

/**
 * Kafka's command-line tools, one after the other, in one JVM. A line of standard input is a class and its arguments,
 * a line of standard output is the exit status, what was printed, and what was printed to standard error. All words
 * are in base64 and begin with a dot, so that none is empty.
 */
public final class Tools {
  /** A tool has ended. Some catch this too: what counts is what was there when it was thrown. */
  private static final class Ended extends Error {
    private Ended() {
      super(null, null, false, false);
    }
  }

  private static final int RUNNING = -1;
  private static volatile int status = RUNNING;

  /** What is printed now; the logging of the tools keeps the stream of its first use. */
  private static final class Current extends OutputStream {
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

    @Override
    public synchronized void write(int value) {
      write(new byte[] {(byte) value}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] data, int from, int count) {
      if (status == RUNNING) {
        bytes.write(data, from, count);
      }
    }

    private synchronized byte[] take() {
      byte[] taken = bytes.toByteArray();
      bytes.reset();
      return taken;
    }
  }

  public static void main(String[] arguments) throws IOException {
    PrintStream answers = System.out;
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    Current printed = new Current();
    Current errors = new Current();
    System.setIn(new ByteArrayInputStream(new byte[0]));
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    System.setErr(new PrintStream(errors, true, StandardCharsets.UTF_8));
    Exit.Procedure end = (code, message) -> {
      if (message != null) {
        System.err.println(message);
      }
      status = status == RUNNING ? code : status;
      throw new Ended();
    };
    Exit.setExitProcedure(end);
    Exit.setHaltProcedure(end);
    Exit.setShutdownHookAdder((name, hook) -> {});
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      for (int number = 0; number < words.length; number++) {
        words[number] = new String(Base64.getDecoder().decode(words[number].substring(1)), StandardCharsets.UTF_8);
      }
      status = RUNNING;
      int last = run(words[0], Arrays.copyOfRange(words, 1, words.length));
      status = status == RUNNING ? last : status;
      answers.println(status + " " + encoded(printed.take()) + " " + encoded(errors.take()));
      answers.flush();
    }
  }

  private static int run(String name, String[] arguments) {
    try {
      Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) arguments);
      return 0;
    } catch (InvocationTargetException error) {
      error.getCause().printStackTrace();
    } catch (ReflectiveOperationException error) {
      error.printStackTrace();
    }
    return 1;
  }

  private static String encoded(byte[] data) {
    return "." + Base64.getEncoder().encodeToString(data);
  }
}
