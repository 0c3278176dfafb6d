package io.stormcut.topologies;

import java.io.IOException;
import java.io.StringReader;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.xml.parsers.ParserConfigurationException;
import javax.xml.parsers.SAXParserFactory;
import org.xml.sax.Attributes;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;
import org.xml.sax.helpers.DefaultHandler;

/** Parses one of some XML documents in memory; yields the sum of their amounts. */
public class XmlParse extends Task {
  private static final int DOCUMENTS = 64;

  private transient String[] documents;

  @Override
  void prepare(Options options, int task) {
    int orders = options.whole("xml.orders");
    documents =
        IntStream.range(0, DOCUMENTS).mapToObj(k -> document(k, orders)).toArray(String[]::new);
  }

  private static String document(int number, int orders) {
    return IntStream.range(0, orders)
        .mapToObj(at -> "<order id=\"" + at + "\" amount=\"" + (number * 31 + at * 7) % 100
            + "\"><item>an item of this order</item></order>")
        .collect(Collectors.joining("", "<orders>", "</orders>"));
  }

  @Override
  long work(long number) {
    Sum sum = new Sum();
    try {
      InputSource input = new InputSource(new StringReader(documents[(int) (number % DOCUMENTS)]));
      SAXParserFactory.newInstance().newSAXParser().parse(input, sum);
    } catch (ParserConfigurationException | SAXException | IOException error) {
      throw new IllegalStateException(error);
    }
    return sum.amounts;
  }

  private static final class Sum extends DefaultHandler {
    long amounts;

    @Override
    public void startElement(String uri, String local, String name, Attributes attributes) {
      if ("order".equals(name)) {
        amounts += Long.parseLong(attributes.getValue("amount"));
      }
    }
  }
}
