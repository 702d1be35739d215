import com.alibaba.druid.DbType;
import com.alibaba.druid.sql.SQLUtils;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Parses every text of a file with Alibaba's druid, a parser written by hand that has nothing in common with ANTLR's grammar.
 *
 * <p>java -cp druid.jar Druid.java TEXTS: a text is name, \x1f, text, \x1e. Prints of each that is refused name, \x1f, why.
 */
public class Druid {
    public static void main(String[] arguments) throws Exception {
        for (String entry : Files.readString(Path.of(arguments[0])).split("\u001e")) {
            String[] parts = entry.split("\u001f", 2);
            String why = refused(parts[1]);
            if (why != null) {
                System.out.println(parts[0] + "\u001f" + why.replaceAll("\\s+", " "));
            }
        }
    }

    private static String refused(String text) {
        try {
            SQLUtils.parseStatements(text, DbType.oracle);
            return null;
        } catch (RuntimeException | StackOverflowError error) {
            return String.valueOf(error.getMessage());
        }
    }
}
